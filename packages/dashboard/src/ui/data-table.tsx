import { type ReactNode, useCallback, useState } from 'react'
import { Link, useLocation } from 'wouter'
import { Button } from './button.tsx'
import styles from './data-table.module.css'
import { Empty } from './states.tsx'

export interface Column<Row> {
  /** Key, unique in the table. */
  readonly key: string
  readonly title: ReactNode
  readonly cell: (row: Row) => ReactNode
  readonly align?: 'start' | 'end'
  /** True to cut long text with an ellipsis instead of wrapping it. */
  readonly isCut?: boolean
  /** True to hide the column on narrow screens. */
  readonly isMinor?: boolean
}

export interface DataTableProps<Row> {
  /** Caption for screen readers. */
  readonly caption: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  readonly rowKey: (row: Row) => string
  /** Link target of a row. The first cell becomes the link. */
  readonly href?: (row: Row) => string
  readonly selectedKey?: string | undefined
  /** Content of an empty table: a message and what to do. */
  readonly empty?: ReactNode
  readonly hasMore?: boolean
  readonly isLoadingMore?: boolean
  readonly onLoadMore?: () => void
}

/** Shows a list of up to some hundred rows. The `grid` shows rows of the database. */
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
    // A scrolling element must be reachable by keyboard. Without scrolling it would be a useless tab stop.
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
              // Keyboard users follow the link in the first cell.
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

/** Returns true if a table is wider than its container. */
function useIsCutOff() {
  const [isCutOff, setCutOff] = useState(false)
  const observe = useCallback((scroller: HTMLDivElement) => {
    const sizes = new ResizeObserver(() => setCutOff(scroller.scrollWidth > scroller.clientWidth))
    for (const element of [scroller, ...scroller.children]) sizes.observe(element)
    return () => sizes.disconnect()
  }, [])
  return [isCutOff, observe] as const
}

/** Returns true for a plain press: not on a control of the row, and not the end of a text selection. */
function isPlainPress(event: React.MouseEvent): boolean {
  if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.shiftKey) return false
  // Events of menus and dialogs of the row arrive here, too, although they are elsewhere in the document.
  if (!(event.target instanceof Element) || !event.currentTarget.contains(event.target)) return false
  if (event.target.closest('a, button, input, select, label, dialog') !== null) return false
  return getSelection()?.isCollapsed !== false
}
