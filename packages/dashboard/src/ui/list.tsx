import type { ReactNode } from 'react'
import { moreOf, type Pages } from '../api/queries.ts'
import { DataTable, type DataTableProps } from './data-table.tsx'
import { SearchedTo } from './searched-to.tsx'
import { LoadedRows } from './states.tsx'

type More = Pick<Pages<unknown>, 'hasMore' | 'searchedTo' | 'isLoadingMore' | 'loadMore'>

/** Rows of a list that is read page by page, or at once. */
type Rows<Row> = { readonly rows: readonly Row[] | undefined; readonly error: Error | null } & {
  readonly refetch: () => void
} & Partial<More>

/** Response of a query: the rows, or an object with the rows as `items`. */
interface Response<Row> {
  readonly data: readonly Row[] | { readonly items: readonly Row[] } | undefined
  readonly error: Error | null
  readonly refetch: () => unknown
}

interface ListProps<Row>
  extends Omit<DataTableProps<Row>, 'rows' | 'hasMore' | 'isLoadingMore' | 'onLoadMore'> {
  /** Result of `usePages` or `useApi`; `rowsOf` selects rows of another response. */
  readonly of: Rows<Row> | Response<Row>
  /** Content below the table. */
  readonly children?: ReactNode
}

/** Renders a list from its request: while it loads, its error, its rows, and the button for further rows. */
export function List<Row>({ of, children, ...table }: ListProps<Row>) {
  const list = 'rows' in of ? of : rowsOf(of, (data) => ('items' in data ? data.items : data))
  const { hasMore = false, searchedTo, isLoadingMore = false, loadMore = () => {} } = list
  const more = { hasMore, searchedTo, isLoadingMore, loadMore }
  return (
    <LoadedRows list={list}>
      {(rows) => (
        <>
          <DataTable {...table} rows={rows} {...moreOf(more)} />
          <SearchedTo list={more} />
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
