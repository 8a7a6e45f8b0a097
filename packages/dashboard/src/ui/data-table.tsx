import { type ReactNode, useCallback, useState } from 'react'
import { Link, useLocation } from 'wouter'
import type { Need } from '../api/administrator.ts'
import { Button } from './button.tsx'
import styles from './data-table.module.css'
import { Empty, EmptyState, type Lesson } from './states.tsx'

/**
 * Trait of a column: `end` aligns numbers, `actions` has buttons and a title for screen readers only, `cut` shortens long text with an
 * ellipsis, and `minor` is hidden on narrow screens.
 */
export type ColumnTrait = 'end' | 'actions' | 'untitled' | 'cut' | 'minor'

/** Column: its title, which is unique in the table, the content of a row's cell, and traits. */
export type Column<Row> = readonly [
  title: string,
  cell: (row: Row) => ReactNode,
  ...traits: readonly ColumnTrait[],
]

export interface DataTableProps<Row> extends Lesson {
  /** Caption for screen readers. */
  readonly caption: string
  readonly columns: readonly Column<Row>[]
  readonly rows: readonly Row[]
  /** Key of a row: its `id`, unless set. */
  readonly rowKey?: (row: Row) => string
  /** Link target of a row. The first cell becomes the link. */
  readonly href?: (row: Row) => string
  readonly selectedKey?: string | undefined
  /** Content of an empty table. A text is a lesson: the purpose of the list, in one or two sentences. */
  readonly empty?: ReactNode
  /** True if a filter may be the reason why the table is empty. */
  readonly isFiltered?: boolean
  /** True if further pages may have rows. */
  readonly hasMore?: boolean
}

/** Shows a list of up to some hundred rows. The `grid` shows rows of the database. */
export function DataTable<Row>({
  caption,
  columns,
  rows,
  rowKey = idOf,
  href,
  selectedKey,
  empty = 'Nothing to show.',
  first,
  example,
  isFiltered = false,
  hasMore = false,
}: DataTableProps<Row>) {
  const [, navigate] = useLocation()
  const [isCutOff, observe] = useIsCutOff()
  if (rows.length === 0 && hasMore) return <Empty>No entries match so far.</Empty>
  if (rows.length === 0 && isFiltered) return <Empty>No entries match.</Empty>
  if (rows.length === 0 && typeof empty === 'string') {
    return <EmptyState {...{ first, example }}>{empty}</EmptyState>
  }
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
            {columns.map(([title, , ...traits]) => (
              <th key={title} scope="col" data-traits={traits.join(' ')}>
                {traits.includes('actions') || traits.includes('untitled') ? (
                  <span className="visually-hidden">{title}</span>
                ) : (
                  title
                )}
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
                {columns.map(([title, cell, ...traits], index) => (
                  <td key={title} data-traits={traits.join(' ')}>
                    {index === 0 && target !== undefined ? <Link href={target}>{cell(row)}</Link> : cell(row)}
                  </td>
                ))}
              </tr>
            )
          })}
        </tbody>
      </table>
    </div>
  )
}

function idOf(row: unknown): string {
  if (typeof row !== 'object' || row === null || !('id' in row)) throw new Error('rowKey is missing')
  return String(row.id)
}

interface RowActionsProps {
  /** Name of the row, which the labels for screen readers end with. */
  readonly of: string
  /** Labels of the buttons, with their functions and permissions: `change`, unless set. `false` hides a button. */
  readonly actions: readonly (readonly [label: string, run: () => void, needs?: Need] | false)[]
}

/** Renders the buttons of a row. */
export function RowActions({ of, actions }: RowActionsProps) {
  return (
    <span className={styles.actions}>
      {actions
        .filter((action) => action !== false)
        .map(([label, run, needs = 'change']) => (
          <Button key={label} size="small" aria-label={`${label} ${of}`} needs={needs} onClick={run}>
            {label}
          </Button>
        ))}
    </span>
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
