import type { Column, Relation } from '../../../../database/catalog/model.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import {
  compileComparison,
  compileConditions,
  compileOrder,
  type ListPlan,
  parseBodyId,
  relationName,
} from '../../collections/index.ts'
import { describeFailure } from '../evaluation/evaluate.ts'
import { compileStoredRows, ordinalColumn } from '../input-rows.ts'
import { type Rehearsal, toCall } from '../rehearsal/rehearsal.ts'

/** Row to examine, as an administrator reads it. */
export interface Candidate {
  /** Record id as in a path, before percent-encoding; undefined without a primary key. */
  readonly id: string | undefined
  /** Row as PostgreSQL writes it. */
  readonly stored: string
  /** Texts of some of its columns, cut where they are long. */
  readonly shown: Readonly<Record<string, string | null>>
}

/** Maximum number of characters of a displayed value. */
const displayedLength = 200
/** Number of displayed columns, beside the key and the columns that policies read. */
const displayedColumns = 12
/** Maximum size in bytes of the rows of an examination. Rows beyond it are left out. */
const rowsSize = 8_000_000

/** Reads the rows without policies. @throws AppError invalid_primary_key, … @throws StatementFailed, TimeIsUp */
export async function readCandidates(
  rehearsal: Rehearsal,
  relation: Relation,
  { ids, plan, limit }: { ids: readonly string[] | undefined; plan: ListPlan; limit: number },
): Promise<{ readonly rows: readonly Candidate[]; readonly isCut: boolean }> {
  const alias = 'basalt candidate'
  const columns = columnsToShow(relation)
  const key = relation.primaryKey.map(({ name }) => sql`${sql.id(alias, name)}::text`)
  const values = columns.map(
    ({ name }) => sql`left(${sql.id(alias, name)}::text, ${sql.integer(displayedLength)})`,
  )
  const { rows } = await rehearsal.attemptPastPolicies(
    toCall(sql`
      select (${sql.id(alias)}.*)::text, ${sql.join([...key, ...values])}
      from ${relationName(relation)} ${sql.id(alias)}
      where ${ids === undefined ? compileConditions(plan.rows, alias) : compileIds(relation, ids, alias)}
      ${compileOrder(plan.order, alias)}
      limit ${sql.integer(limit)}`),
  )
  let size = 0
  const fitting = rows.filter(([stored]) => {
    size += stored?.length ?? 0
    return size <= rowsSize
  })
  const candidates = fitting.map(([stored, ...texts]) => ({
    id: key.length === 0 ? undefined : joinId(texts.slice(0, key.length)),
    stored: stored ?? '',
    shown: Object.fromEntries(columns.map(({ name }, index) => [name, texts[key.length + index] ?? null])),
  }))
  return { rows: candidates, isCut: fitting.length < rows.length }
}

function columnsToShow({ columns, primaryKey, policies }: Relation): readonly Column[] {
  const read = new Set(policies.flatMap(({ columns: names }) => names ?? []))
  const others = columns.filter((column) => !primaryKey.includes(column) && !read.has(column.name))
  const displayed = new Set([
    ...primaryKey,
    ...columns.filter(({ name }) => read.has(name)).slice(0, 3 * displayedColumns),
    ...others.slice(0, displayedColumns),
  ])
  return [...displayed]
}

/** Joins the values of a key. A comma inside a value of a composite key is encoded, as in a path. */
function joinId(values: readonly (string | null)[]): string {
  const texts = values.map((value) => value ?? '')
  return texts.length === 1 ? (texts[0] ?? '') : texts.map((text) => encodeURIComponent(text)).join(',')
}

function compileIds(relation: Relation, ids: readonly string[], alias: string): Sql {
  const conditions = ids.map((id) => {
    const values = parseBodyId(relation, id)
    return sql`(${sql.join(
      relation.primaryKey.map(({ name, type }, index) =>
        compileComparison(type, sql.id(alias, name), '=', sql`${values[index] ?? ''}`),
      ),
      sql` and `,
    )})`
  })
  return conditions.length === 0 ? sql`false` : sql`(${sql.join(conditions, sql` or `)})`
}

/** Visibility of a row to the caller, as the table itself returns it with its policies in force. */
export type Visibility = boolean | { readonly message: string; readonly sqlState: string } | undefined

/** Returns which rows are visible. Undefined for tables without a key, as nothing distinguishes their rows. */
export async function findVisible(
  rehearsal: Rehearsal,
  relation: Relation,
  candidates: readonly Candidate[],
): Promise<readonly Visibility[]> {
  if (relation.rowKey.length === 0 || candidates.length === 0) return candidates.map(() => undefined)
  const same = relation.rowKey.map(({ name, type }) =>
    compileComparison(type, sql.id('basalt seen', name), '=', sql.id(relation.name, name)),
  )
  const texts = candidates.map(({ stored }) => stored)
  try {
    const [answer] = await rehearsal.attempt([
      toCall(sql`
        select ${ordinalColumn(relation)}
        from ${compileStoredRows(relation, sql`${texts}`)}
        join ${relationName(relation)} "basalt seen" on ${sql.join(same, sql` and `)}`),
    ])
    const ordinals = new Set(answer?.rows.map(([ordinal]) => Number(ordinal)))
    return candidates.map((_, index) => ordinals.has(index + 1))
  } catch (error) {
    const failure = describeFailure(error)
    return candidates.map(() => failure)
  }
}
