import { Link } from 'wouter'
import { useApi } from '../../api/queries.ts'
import { rowsLink } from '../../links.ts'
import { DataTable } from '../../ui/data-table.tsx'
import { formatNumber } from '../../ui/format.ts'
import { Loaded } from '../../ui/states.tsx'
import { equalFilter } from '../tables/names.ts'
import { previewDeletion } from './api.ts'

/** Number above which rows are not counted. */
const mostCounted = 10_000

/** Lists the rows that reference a user, by table. */
export function UserRows({ id }: { readonly id: string }) {
  const preview = useApi(['users', 'rows', id], (signal) => previewDeletion(id, signal))
  return (
    <Loaded query={preview}>
      {({ references }) => (
        <DataTable
          caption="Rows of this user"
          // The server's own tables are no collections, and the other tabs show their rows.
          rows={references.filter(({ table }) => !table.startsWith('basalt.'))}
          rowKey={({ table, columns }) => `${table} ${columns.join()}`}
          empty="No row references this user. Tables do by a column such as owner_id uuid references basalt.users."
          columns={[
            {
              key: 'table',
              title: 'Table',
              cell: ({ table, columns }) => {
                const collection = table.replace(/^public\./, '')
                const filter = equalFilter(columns.map((column) => [column, id] as const))
                return <Link href={rowsLink(collection, { filter })}>{collection}</Link>
              },
            },
            { key: 'columns', title: 'Column', cell: ({ columns }) => <code>{columns.join(', ')}</code> },
            { key: 'rows', title: 'Rows', align: 'end', cell: ({ rows }) => formatCount(rows) },
          ]}
        />
      )}
    </Loaded>
  )
}

/** Formats a count. It is null if counting took too long. */
function formatCount(rows: number | null): string {
  if (rows === null) return 'many'
  return rows > mostCounted ? `more than ${formatNumber(mostCounted)}` : formatNumber(rows)
}
