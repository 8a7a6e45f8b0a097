import { useState } from 'react'
import { Link } from 'wouter'
import { useApi } from '../../api/queries.ts'
import { rowsLink } from '../../links.ts'
import { formatNumber } from '../../ui/format.ts'
import { FilterField } from '../../ui/layout.tsx'
import { SkipLink } from '../../ui/skip-link.tsx'
import { LoadedRows } from '../../ui/states.tsx'
import { listTables, type TableSummary } from './api.ts'
import styles from './tables.module.css'

/** Id of the element that shows the table. */
export const openTableId = 'table'

/** Maximum number of listed tables. Others are found by name, because there may be twenty thousand. */
export const listed = 200

/** Key of the list without a search. */
export const allTables = ['tables', 'list', '']

export function TableList({ current }: { readonly current: string | undefined }) {
  const [search, setSearch] = useState('')
  // The statistics of the database, from which the numbers of rows are, follow a write some seconds later.
  const tables = useApi(['tables', 'list', search], (signal) => listTables(search, listed, signal), {
    refetchIntervalMs: 10_000,
  })
  const list = { rows: tables.data?.items, error: tables.error, refetch: () => void tables.refetch() }
  return (
    <nav className={styles.list} aria-label="Tables">
      {current !== undefined && <SkipLink to={openTableId}>Skip to the table</SkipLink>}
      <FilterField label="Find a table" value={search} onChange={setSearch} />
      <LoadedRows list={list}>
        {(rows) => (
          <>
            {[...Map.groupBy(rows, ({ schema }) => schema)].map(([schema, items]) => (
              <section key={schema}>
                <h2>{schema}</h2>
                <ul>
                  {items.map((item) => (
                    <TableLink key={item.collection} item={item} isCurrent={item.collection === current} />
                  ))}
                </ul>
              </section>
            ))}
            {rows.length === 0 && (
              <p className={styles.hint}>
                {search === '' ? (
                  <>
                    There are no tables yet. <Link href="/structure">Create one</Link>, or{' '}
                    <Link href="/sql">run SQL</Link>.
                  </>
                ) : (
                  'No tables match.'
                )}
              </p>
            )}
            {(tables.data?.count ?? 0) > rows.length && (
              <p className={styles.hint}>
                Showing {formatNumber(rows.length)} of {formatNumber(tables.data?.count ?? 0)}. Search to find
                the others.
              </p>
            )}
          </>
        )}
      </LoadedRows>
    </nav>
  )
}

function TableLink({ item, isCurrent }: { readonly item: TableSummary; readonly isCurrent: boolean }) {
  const { collection, name, kind, estimatedRows } = item
  return (
    <li>
      <Link href={rowsLink(collection)} aria-current={isCurrent ? 'page' : undefined}>
        <span className={styles.name}>{name}</span>
        <span className={styles.rows}>
          {kind === 'table' || kind === 'partitioned_table' ? '' : kind.replace('_', ' ')}
          {estimatedRows === null ? '' : ` ≈ ${shortNumber(estimatedRows)}`}
        </span>
      </Link>
    </li>
  )
}

const short = new Intl.NumberFormat(undefined, { notation: 'compact' })
const shortNumber = (value: number) => short.format(value)
