import { useState } from 'react'
import { useApi } from '../../api/queries.ts'
import { DataTable } from '../../ui/data-table.tsx'
import { formatBytes, formatNumber } from '../../ui/format.ts'
import { FilterField, Toolbar } from '../../ui/layout.tsx'
import { Loaded } from '../../ui/states.tsx'
import { listTables, type TableSummary } from '../tables/api.ts'
import { listIndexes } from './api.ts'
import { IndexState } from './index-state.tsx'

/** Maximum number of listed tables. Others are found by name. */
const listed = 100
const refetchIntervalMs = 5_000

/** Lists the readable tables with the state of their indexes. */
export function CollectionList() {
  const [name, setName] = useState('')
  const tables = useApi(['tables', 'list', name, listed], (signal) => listTables(name, listed, signal))
  const indexes = useApi(['search', 'indexes'], listIndexes, { refetchIntervalMs })
  const statusOf = ({ collection }: TableSummary) =>
    indexes.data?.items.find((status) => status.collection === collection)
  const sizeOf = (table: TableSummary) =>
    statusOf(table)?.indexes.reduce((sum, { sizeBytes }) => sum + sizeBytes, 0) ?? 0
  return (
    <>
      <Toolbar label="Tables">
        <FilterField label="Find a table" value={name} onChange={setName} />
      </Toolbar>
      <Loaded query={tables}>
        {({ items, count }) => (
          <>
            <DataTable<TableSummary>
              caption="Tables"
              rows={items.filter(({ isReadable }) => isReadable)}
              rowKey={({ collection }) => collection}
              href={({ collection }) => `/search/${encodeURIComponent(collection)}`}
              isFiltered={name !== ''}
              empty="No tables yet. The text of each table can be searched, with typos and highlights."
              first={['Create a table', '/structure/new', 'structure.write']}
              columns={[
                ['Table', ({ collection }) => collection],
                ['Index', (table) => <IndexState status={statusOf(table)} />],
                [
                  'Index size',
                  (table) => (sizeOf(table) === 0 ? '' : formatBytes(sizeOf(table))),
                  'end',
                  'minor',
                ],
                [
                  'Rows',
                  ({ estimatedRows }) => (estimatedRows === null ? '' : `≈ ${formatNumber(estimatedRows)}`),
                  'end',
                  'minor',
                ],
              ]}
            />
            {count > items.length && (
              <p>
                Showing {formatNumber(items.length)} of {formatNumber(count)}. Search to find the others.
              </p>
            )}
          </>
        )}
      </Loaded>
    </>
  )
}
