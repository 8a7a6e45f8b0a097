import type { ReactNode } from 'react'
import { DataTable, type DataTableProps } from './data-table.tsx'
import { More, type MorePages } from './more.tsx'
import { LoadedRows } from './states.tsx'

/** Rows of a list that is read page by page, or at once. */
type Rows<Row> = { readonly rows: readonly Row[] | undefined; readonly error: Error | null } & {
  readonly refetch: () => void
} & Partial<MorePages>

/** Response of a query: the rows, or an object with the rows as `items`. */
interface Response<Row> {
  readonly data: readonly Row[] | { readonly items: readonly Row[] } | undefined
  readonly error: Error | null
  readonly refetch: () => unknown
}

interface ListProps<Row> extends Omit<DataTableProps<Row>, 'rows' | 'hasMore'> {
  /** Result of `usePages` or `useApi`; `rowsOf` selects rows of another response. */
  readonly of: Rows<Row> | Response<Row>
  /** Content below the table. */
  readonly children?: ReactNode
}

/** Renders a list from its request: while it loads, its error, its rows, and the button for further rows. */
export function List<Row>({ of, children, ...table }: ListProps<Row>) {
  const list = 'rows' in of ? of : rowsOf(of, (data) => ('items' in data ? data.items : data))
  const { hasMore = false, searchedTo, isLoadingMore = false, loadMore = () => {} } = list
  return (
    <LoadedRows list={list}>
      {(rows) => (
        <>
          <DataTable {...table} rows={rows} hasMore={hasMore} />
          <More list={{ hasMore, searchedTo, isLoadingMore, loadMore }} />
          {children}
        </>
      )}
    </LoadedRows>
  )
}

/** Returns the rows within the response of a query, for `List`. */
export const rowsOf = <Data, Row>(
  { data, error, refetch }: { data: Data | undefined; error: Error | null; refetch: () => unknown },
  select: (data: Data) => readonly Row[],
): Rows<Row> => ({
  rows: data === undefined ? undefined : select(data),
  error,
  refetch: () => void refetch(),
})
