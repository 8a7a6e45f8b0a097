import { useLocation } from 'wouter'
import { useApi } from '../../api/queries.ts'
import { decodeSegment } from '../../path-segment.ts'
import { useFocusOnNavigation } from '../../shell/focus.ts'
import { usePageTitle } from '../../shell/page-title.ts'
import { Loaded } from '../../ui/states.tsx'
import { describeTable } from './api.ts'
import { openTableId, TableList } from './table-list.tsx'
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
      {table === undefined ? (
        <div className={styles.hint}>
          <h1 className="visually-hidden">Tables</h1>
          <p>Select a table.</p>
        </div>
      ) : (
        <OpenTable key={table} table={table} />
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
  return (
    <div className={styles.table} id={openTableId} tabIndex={-1}>
      <Loaded query={info}>{(loaded) => <TableView info={loaded} />}</Loaded>
    </div>
  )
}
