import { type ReactNode, useCallback, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { Button } from './button.tsx'
import styles from './data-table.module.css'
import { Empty } from './states.tsx'

export interface Column<Row> {
  /** Unique in the table. */
  readonly key: string
  readonly title: ReactNode
  readonly cell: (row: Row) => ReactNode
  readonly align?: 'start' | 'end'
  /** Cut with an ellipsis instead of wrapped. */
  readonly isCut?: boolean
  /** Hidden on narrow screens. */
  readonly isMinor?: boolean
}

export interface DataTableProps<Row> {
  /** For screen readers. */
  readonly caption: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly rowKey: (row: Row) => string
  /** Where a row leads; its first cell becomes the link. */
  readonly href?: (row: Row) => string
  readonly selectedKey?: string | undefined
  /** What to say, and to do, when there are no rows. */
  readonly empty?: ReactNode
  readonly hasMore?: boolean
  readonly isLoadingMore?: boolean
  readonly onLoadMore?: () => void
}

/** For lists of up to some hundred rows; rows of the database are shown by `grid`. */
export function DataTable<Row>({
  caption,
  columns,
  rows,
  rowKey,
  href,
  selectedKey,
  empty = 'Nothing to show.',
  hasMore = false,
  isLoadingMore = false,
  onLoadMore,
}: DataTableProps<Row>) {
  const [, navigate] = useLocation()
  const [isCutOff, observe] = useIsCutOff()
  if (rows.length === 0) return <Empty>{empty}</Empty>
  return (
    // What scrolls must be reachable by keyboard; where everything is shown that would be a stop for nothing.
    <div
      ref={observe}
      className={styles.scroller}
      {...(isCutOff && { role: 'region', 'aria-label': caption, tabIndex: 0 })}
    >
      <table className={styles.table}>
        <caption className="visually-hidden">{caption}</caption>
        <thead>
          <tr>
            {columns.map((column) => (
              <th key={column.key} scope="col" data-align={column.align} data-minor={column.isMinor}>
                {column.title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => {
            const key = rowKey(row)
            const target = href?.(row)
            return (
              // The link of the first cell is the way by keyboard.
              <tr
                key={key}
                data-linked={target !== undefined || undefined}
                aria-current={key === selectedKey ? 'true' : undefined}
                onClick={(event) => {
                  if (target !== undefined && isPlainPress(event)) navigate(target)
                }}
              >
                {columns.map((column, index) => (
                  <td
                    key={column.key}
                    data-align={column.align}
                    data-cut={column.isCut}
                    data-minor={column.isMinor}
                  >
                    {index === 0 && target !== undefined ? (
                      <Link href={target}>{column.cell(row)}</Link>
                    ) : (
                      column.cell(row)
                    )}
                  </td>
                ))}
              </tr>
            )
          })}
        </tbody>
      </table>
      {hasMore && (
        <div className={styles.more}>
          <Button onClick={onLoadMore} isPending={isLoadingMore}>
            Load more
          </Button>
        </div>
      )}
    </div>
  )
}

/** Whether a table is wider than the place that shows it. */
function useIsCutOff() {
  const [isCutOff, setCutOff] = useState(false)
  const observe = useCallback((scroller: HTMLDivElement) => {
    const sizes = new ResizeObserver(() => setCutOff(scroller.scrollWidth > scroller.clientWidth))
    for (const element of [scroller, ...scroller.children]) sizes.observe(element)
    return () => sizes.disconnect()
  }, [])
  return [isCutOff, observe] as const
}

/** Not on a control of the row, and not the end of a selection of text. */
function isPlainPress(event: React.MouseEvent): boolean {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey) return false
  // Events of menus and dialogs of the row arrive here, too, though they are elsewhere in the page.
  if (!(event.target instanceof Element) || !event.currentTarget.contains(event.target)) return false
  if (event.target.closest('a, button, input, select, label, dialog') !== null) return false
  return getSelection()?.isCollapsed !== false
}
