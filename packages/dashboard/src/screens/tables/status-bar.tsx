import { type ReactNode, useState } from 'react'
import { useApi } from '../../api/queries.ts'
import { Button } from '../../ui/button.tsx'
import { formatNumber } from '../../ui/format.ts'
import { countRows, type Reader, type TableInfo } from './api.ts'
import styles from './tables.module.css'
import { countKey, type Rows } from './use-rows.ts'

/** Number up to which rows are counted, unless the user requests a full count. */
const mostCounted = 10_000

interface StatusBarProps {
  readonly info: TableInfo
  readonly request: { readonly filter?: string | undefined; readonly as?: Reader | undefined }
  readonly rows: Rows
  readonly children: ReactNode
}

/** Shows the number of rows. They are counted in parallel with reading the rows, never before. */
export function StatusBar({ info, request, rows, children }: StatusBarProps) {
  const { filter, as } = request
  const [exact, setExact] = useState<string>()
  const shape = JSON.stringify([filter, as])
  const most = exact === shape ? undefined : mostCounted
  const count = useApi(
    [...countKey(info.table), filter, as, most],
    (signal) => countRows(info.table, { filter, as, most }, signal),
    { enabled: rows.rows !== undefined, keepsPrevious: false },
  )
  return (
    <div className={styles.status}>
      <div role="status">
        <span>
          {formatNumber(rows.rows?.length ?? 0)} loaded
          {rows.isFetching ? ', loading…' : ''}
          {!info.isWritable && `, read only: ${info.kind.replace('_', ' ')}`}
          {info.isWritable && info.primaryKey.length === 0 && ', read only: no primary key'}
        </span>
        {count.data !== undefined && (
          <span>
            {formatNumber(count.data.count)}
            {count.data.isBounded ? `+ (≈ ${formatNumber(count.data.estimate)})` : ''} in total
          </span>
        )}
        {count.isFetching && most === undefined && <span>counting…</span>}
        {count.data?.isBounded === true && (
          <Button size="small" variant="plain" onClick={() => setExact(shape)}>
            Count all
          </Button>
        )}
        {count.error !== null && <span>not counted: {count.error.message}</span>}
      </div>
      <div>{children}</div>
    </div>
  )
}
