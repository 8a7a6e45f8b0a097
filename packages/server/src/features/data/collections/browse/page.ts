import type { Answer } from '../../../../database/connection/message.ts'
import { choice, component, nullable } from '../../../../http/schemas.ts'
import { Type } from '../../../../lib/type.ts'
import { versionTag } from '../access/precondition.ts'
import { formatCursor } from '../parse/cursor.ts'
import { offsetCursor, offsetOf, type PagePlan } from '../plan/browse.ts'
import { describeKey } from '../plan/order.ts'

export const GridPage = component(
  'GridPage',
  Type.Object({
    columns: Type.Array(Type.String()),
    width: Type.Integer({
      description: 'Number of characters after which cells are cut. A cut cell has one character more.',
    }),
    paging: choice(['keyset', 'file', 'offset'], {
      description:
        '`file`: the table has no primary key. Its rows come in the order of the file, forwards only.',
    }),
    before: nullable(Type.String(), { description: 'null if no row precedes the page.' }),
    after: nullable(Type.String(), { description: 'null on the last page.' }),
    rows: Type.Array(
      component(
        'GridRow',
        Type.Object({
          key: nullable(Type.Array(Type.String()), { description: 'Primary key.' }),
          etag: nullable(Type.String(), {
            description:
              'Entity tag for `ifMatch` of a change. null for a row that cannot be changed, of a distributed table, or of more than 1 MB, unless it was requested by its `id`.',
          }),
          sizes: Type.Optional(Type.Object({}, { additionalProperties: Type.Integer() })),
          cells: Type.Array(nullable(Type.String())),
        }),
      ),
    ),
  }),
)

/** Cells of a row as JSON, sizes of the cut ones, primary key, sort keys and version. */
type PageRow = Answer['rows'][number]

/** Formats a page. Cells stay the text that PostgreSQL made of them. */
export function formatPage(plan: PagePlan, found: readonly PageRow[]): string {
  const isBackwards = plan.position.kind === 'before'
  const hasFurther = found.length > plan.limit
  const page = found.slice(0, plan.limit)
  if (isBackwards) page.reverse()
  const rows = page.map(([cells, sizes, key, , version]) => {
    const cut = sizes == null ? '' : cutSizes(sizes)
    const etag = version == null ? null : versionTag(version)
    return `{"key":${key ?? 'null'},"etag":${JSON.stringify(etag)}${cut},"cells":${cells ?? '[]'}}`
  })
  const hasNext = isBackwards || hasFurther
  // A page that begins at a value or cursor may have rows before it, even if reading them finds none.
  const hasPrevious =
    plan.paging === 'keyset' &&
    (isBackwards ? hasFurther : plan.position.kind === 'after' || plan.position.kind === 'from')
  return `{"columns":${JSON.stringify(plan.columns.map(({ name }) => name))},"width":${plan.width},"paging":"${plan.paging}",${[
    `"before":${JSON.stringify(hasPrevious ? cursorOf(plan, page[0], 0) : null)}`,
    `"after":${JSON.stringify(hasNext ? cursorOf(plan, page.at(-1), page.length) : null)}`,
  ].join()},"rows":[${rows.join()}]}`
}

/** Returns the sizes of cut cells by column index; most rows have none. */
function cutSizes(sizes: string): string {
  // The statement makes texts or null.
  const values = JSON.parse(sizes) as readonly (string | null)[]
  const cut = values.flatMap((size, index) => (size === null ? [] : [`"${index}":${size}`]))
  return cut.length === 0 ? '' : `,"sizes":{${cut.join()}}`
}

/** @returns null where the values of the row are too long to continue from */
function cursorOf(plan: PagePlan, row: PageRow | undefined, count: number): string | null {
  if (row === undefined) return null
  if (plan.paging === 'offset') return formatCursor(offsetCursor(offsetOf(plan.position) + count))
  const values = JSON.parse(row[3] ?? '[]') as readonly (string | null)[]
  return formatCursor(
    plan.order.map((key, index) => ({ key: describeKey(key), value: values[index] ?? null })),
  )
}
