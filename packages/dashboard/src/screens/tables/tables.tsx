import { useEffect } from 'react'
import { Redirect, useLocation } from 'wouter'
import { useApi } from '../../api/queries.ts'
import { rowsLink } from '../../links.ts'
import { decodeSegment } from '../../path-segment.ts'
import { useFocusOnNavigation } from '../../shell/focus.ts'
import { usePageTitle } from '../../shell/page-title.ts'
import { changePreferences, usePreferences } from '../../shell/preferences.ts'
import { EmptyState, Loaded } from '../../ui/states.tsx'
import { firstPolicy, firstTable } from '../structure/first-table.ts'
import { describeTable, listTables } from './api.ts'
import { allTables, listed, openTableId, TableList } from './table-list.tsx'
import { TableView } from './table-view.tsx'
import styles from './tables.module.css'

/** Renders `/tables` and `/tables/{table}`. The query string stores the rest of the view. */
export function TablesScreen() {
  const [path] = useLocation()
  const table = tableOf(path)
  usePageTitle(table ?? 'Tables')
  useFocusOnNavigation(table, openTableId)
  return (
    <div className={styles.screen} data-open={table !== undefined || undefined}>
      <TableList current={table} />
      {table === undefined ? <LastTable /> : <OpenTable key={table} table={table} />}
    </div>
  )
}

/** Opens the table that was opened last, or the first one. */
function LastTable() {
  const preferences = usePreferences()
  const tables = useApi(allTables, (signal) => listTables('', listed, signal))
  const names = tables.data?.items.map(({ collection }) => collection) ?? []
  const last = preferences?.lastTable
  const target = names.find((name) => name === last) ?? names[0]
  if (preferences !== undefined && target !== undefined) return <Redirect to={rowsLink(target)} replace />
  return (
    <div className={styles.hint}>
      <h1 className="visually-hidden">Tables</h1>
      {tables.data !== undefined && target === undefined && (
        <EmptyState
          first={['Create a table', '/structure/new', 'structure.write']}
          example={[`${firstTable}\n${firstPolicy}`, 'First table']}
        >
          Rows of a table are served immediately, to the callers that its policies admit.
        </EmptyState>
      )}
    </div>
  )
}

function tableOf(path: string): string | undefined {
  const [, , name] = path.split('/')
  return name === undefined || name === '' ? undefined : decodeSegment(name)
}

function OpenTable({ table }: { readonly table: string }) {
  const info = useApi(['tables', table, 'info'], (signal) => describeTable(table, signal), {
    keepsPrevious: false,
  })
  const preferences = usePreferences()
  const isNews = info.isSuccess && preferences !== undefined && preferences.lastTable !== table
  useEffect(() => {
    if (isNews) void changePreferences({ lastTable: table })
  }, [isNews, table])
  return (
    <div className={styles.table} id={openTableId} tabIndex={-1}>
      <Loaded query={info}>{(loaded) => <TableView info={loaded} />}</Loaded>
    </div>
  )
}
