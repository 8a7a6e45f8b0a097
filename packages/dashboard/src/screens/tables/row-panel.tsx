import { useMemo } from 'react'
import { Link } from 'wouter'
import { useApi } from '../../api/queries.ts'
import { accessLink, auditLink, rowsLink, userLink } from '../../links.ts'
import { Button } from '../../ui/button.tsx'
import { formatBytes, formatNumber } from '../../ui/format.ts'
import { KeyValue, Section } from '../../ui/layout.tsx'
import { safeAddress } from '../../ui/safe-address.ts'
import { SafeLink } from '../../ui/safe-link.tsx'
import { SidePanel } from '../../ui/side-panel.tsx'
import { Empty, Loaded } from '../../ui/states.tsx'
import { visibleText } from '../../ui/visible-text.ts'
import {
  type ColumnInfo,
  countRows,
  type Reader,
  type RelationInfo,
  readRows,
  type TableInfo,
  type TableRow,
} from './api.ts'
import { rendererOf } from './cell-renderers.tsx'
import { referenceOf } from './kinds.ts'
import { labelAt, useLabels } from './labels.ts'
import { equalFilter, idText } from './names.ts'

/** Number up to which related rows are counted. Beyond it, users only need to know 1,000+. */
const mostCounted = 1000

interface RowPanelProps {
  readonly info: TableInfo
  readonly rowId: string
  readonly as: Reader | undefined
  readonly onEdit: ((row: TableRow, column: string, value: string | null | undefined) => void) | undefined
  readonly onDelete: ((row: TableRow) => void) | undefined
  readonly onDuplicate: ((row: TableRow) => void) | undefined
  readonly onClose: () => void
}

/** Shows a row with all columns, and its relations in both directions. */
export function RowPanel({ info, rowId, as, onEdit, onDelete, onDuplicate, onClose }: RowPanelProps) {
  const row = useApi(['tables', info.table, 'row', rowId, as], async (signal) => {
    const page = await readRows(info.table, { id: rowId, as }, signal)
    return page.rows[0] ?? null
  })
  return (
    <SidePanel title={`${info.table} ${idText(rowId, info.primaryKey)}`} onClose={onClose} size="normal">
      <Loaded query={row}>
        {(loaded) =>
          loaded === null ? (
            <Empty>This row does not exist or is not visible.</Empty>
          ) : (
            <>
              <p>
                <Link href={auditLink({ table: info.table, record_id: rowId })}>History</Link>
                {' · '}
                <Link href={accessLink({ table: info.table, id: rowId })}>Who can see it?</Link>
                {onDuplicate !== undefined && (
                  <Button variant="plain" size="small" onClick={() => onDuplicate(loaded)}>
                    Duplicate
                  </Button>
                )}
                {onDelete !== undefined && (
                  <Button variant="plain" size="small" onClick={() => onDelete(loaded)}>
                    Mark for deletion
                  </Button>
                )}
              </p>
              {!info.isAudited && info.isWritable && (
                <p>
                  The history has no changes of rows: the table is not audited. Add it to{' '}
                  <code>audit.tables</code> in the configuration, and restart the server.
                </p>
              )}
              <Section title="Values">
                <Values info={info} row={loaded} as={as} onEdit={onEdit} />
              </Section>
              {info.relations.length > 0 && (
                <Section title="Related rows">
                  <KeyValue
                    pairs={info.relations.map((relation) => [
                      relation.name,
                      <RelatedRow
                        key={relation.constraint}
                        info={info}
                        relation={relation}
                        row={loaded}
                        as={as}
                      />,
                    ])}
                  />
                </Section>
              )}
            </>
          )
        }
      </Loaded>
    </SidePanel>
  )
}

/** Lists the values of a row. References are followed by links with their labels, except in a view as a user. */
function Values({
  info,
  row,
  as,
  onEdit,
}: Pick<RowPanelProps, 'info' | 'as' | 'onEdit'> & { readonly row: TableRow }) {
  const rows = useMemo(() => [row], [row])
  const labels = useLabels(info, rows, { isOn: as === undefined })
  const valueAt = (name: string) => row.cells[info.columns.findIndex((each) => each.name === name)] ?? null
  return (
    <KeyValue
      pairs={info.columns.map((column, index) => {
        const { name } = column
        const size = row.sizes?.[index]
        const text = row.cells[index] ?? null
        const label = labelAt(labels, name, valueAt)
        return [
          name,
          <span key={name}>
            <CellText column={column} text={text} />
            {size !== undefined && ` … ${formatBytes(size)}`}{' '}
            {label !== undefined && (
              <Link href={referenceLink(info, name, valueAt)}>{visibleText(label)}</Link>
            )}{' '}
            {onEdit !== undefined && (
              <Button
                variant="plain"
                size="small"
                aria-label={`Edit ${name}`}
                onClick={() => onEdit(row, name, size === undefined ? text : undefined)}
              >
                Edit
              </Button>
            )}
          </span>,
        ]
      })}
    />
  )
}

/** Returns the link to the user or the row that a column references. */
function referenceLink(info: TableInfo, column: string, valueAt: (name: string) => string | null): string {
  const relation = info.people.includes(column) ? undefined : referenceOf(info, column)
  if (relation === undefined) return userLink(valueAt(column) ?? '')
  const pairs = relation.pairs.map(({ from, to }) => [to, valueAt(from)] as const)
  return rowsLink(relation.table, { filter: equalFilter(pairs) })
}

function CellText({ column, text }: { readonly column: ColumnInfo; readonly text: string | null }) {
  if (text === null) return <em>NULL</em>
  if (text === '') return <em>empty</em>
  const draw = rendererOf(column)
  if (draw !== undefined) return draw(text)
  return safeAddress(text) === undefined ? visibleText(text) : <SafeLink href={text} />
}

/** Shows the number of related rows, with a link to them. */
function RelatedRow({
  info,
  relation,
  row,
  as,
}: {
  readonly info: TableInfo
  readonly relation: RelationInfo
  readonly row: TableRow
  readonly as: Reader | undefined
}) {
  const names = info.columns.map(({ name }) => name)
  const pairs = relation.pairs.map(({ from, to }) => [to, row.cells[names.indexOf(from)] ?? null] as const)
  // A foreign key with NULL references no row.
  const leads = pairs.every(([, value]) => value !== null)
  const filter = equalFilter(pairs)
  const count = useApi(
    ['tables', relation.table, 'count', filter, mostCounted, as],
    (signal) => countRows(relation.table, { filter, most: mostCounted, as }, signal),
    { enabled: leads },
  )
  if (!leads) return <>–</>
  return (
    <>
      <Link href={rowsLink(relation.table, { filter })}>{relation.table}</Link>{' '}
      {count.data !== undefined && `(${formatNumber(count.data.count)}${count.data.isBounded ? '+' : ''})`}
      {count.error !== null && ` (${count.error.message})`}
    </>
  )
}
