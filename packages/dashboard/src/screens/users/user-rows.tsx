import { Link } from 'wouter'
import { useApi } from '../../api/queries.ts'
import { rowsLink } from '../../links.ts'
import { formatNumber } from '../../ui/format.ts'
import { List, rowsOf } from '../../ui/list.tsx'
import { equalFilter } from '../tables/names.ts'
import { previewDeletion } from './api.ts'

/** Number above which rows are not counted. */
const mostCounted = 10_000

/** Lists the rows that reference a user, by table. */
export function UserRows({ id }: { readonly id: string }) {
  const preview = useApi(['users', 'rows', id], (signal) => previewDeletion(id, signal))
  return (
    <List
      caption="Rows of this user"
      // The server's own tables are no collections, and the other tabs show their rows.
      of={rowsOf(preview, ({ references }) => references.filter(({ table }) => !table.startsWith('basalt.')))}
      rowKey={({ table, columns }) => `${table} ${columns.join()}`}
      empty="No row references this user yet. Tables do by a column, which shows the user by name."
      example={['owner_id uuid references basalt.users', 'Column of a table']}
      columns={[
        [
          'Table',
          ({ table, columns }) => {
            const collection = table.replace(/^public\./, '')
            const filter = equalFilter(columns.map((column) => [column, id] as const))
            return <Link href={rowsLink(collection, { filter })}>{collection}</Link>
          },
        ],
        ['Column', ({ columns }) => <code>{columns.join(', ')}</code>],
        ['Rows', ({ rows }) => formatCount(rows), 'end'],
      ]}
    />
  )
}

/** Formats a count. It is null if counting took too long. */
function formatCount(rows: number | null): string {
  if (rows === null) return 'many'
  return rows > mostCounted ? `more than ${formatNumber(mostCounted)}` : formatNumber(rows)
}
