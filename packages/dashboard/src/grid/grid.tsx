import { type ReactNode, useCallback, useEffect, useId, useRef } from 'react'
import { formatTabs, parseTabs } from './clipboard.ts'
import styles from './grid.module.css'
import { GridHeader, type HeaderActions } from './header.tsx'
import { headerHeight, rowHeight } from './layout.ts'
import type {
  CellPosition,
  EditRequest,
  GridCell,
  GridColumn,
  GridSort,
  RowAction,
  RowState,
  Selection,
} from './model.ts'
import { GridRow } from './row.tsx'
import { clampCell, isTyped, moveSelection, type Range, rangeOf, selectCell } from './selection.ts'
import { useAnchor } from './use-anchor.ts'
import { useWindow } from './use-window.ts'

export interface GridProps extends HeaderActions {
  /** Label for screen readers. */
  readonly label: string
  /** Columns in display order, pinned columns first. */
  readonly columns: readonly GridColumn[]
  /** Number of rows that can be shown now. */
  readonly rowCount: number
  /** Total number of rows; undefined if unknown. */
  readonly totalRows?: number | undefined
  /** Number of the first row; 1 unless set. */
  readonly firstNumber?: number
  readonly cell: (row: number, column: GridColumn) => GridCell
  readonly rowKey: (row: number) => string
  readonly rowState?: ((row: number) => RowState | undefined) | undefined
  readonly sort?: readonly GridSort[]
  readonly selection: Selection
  readonly onSelect: (selection: Selection) => void
  /** Version of the cells. When it changes, the rows in view are rendered again. */
  readonly version: unknown
  /** Keys of the rows whose checkboxes are ticked. */
  readonly ticked?: ReadonlySet<string>
  readonly onTick?: ((row: number) => void) | undefined
  readonly onTickAll?: (() => void) | undefined
  readonly onOpenRow?: ((row: number) => void) | undefined
  readonly onReachEnd?: (() => void) | undefined
  /** Called with the first and last row that are in the document. */
  readonly onView?: ((first: number, last: number) => void) | undefined
  /** Called when the user starts to edit a cell with Enter, F2, a double click or typing. */
  readonly onEdit?: ((request: EditRequest) => void) | undefined
  /** Position of the cell being edited, with its editor. */
  readonly editing?: CellPosition | undefined
  readonly editor?: ReactNode
  readonly onPaste?: ((range: Range, cells: readonly (readonly string[])[]) => void) | undefined
  /** Called for Delete and Backspace. */
  readonly onClear?: ((range: Range) => void) | undefined
  readonly empty?: ReactNode
}

/** Number of rows before the end at which further rows are requested. */
const reachRows = 40

/**
 * Renders only the rows and columns that are in view. The grid has the focus as a whole and names its active cell (WAI-ARIA,
 * Managing Focus in Composites Using aria-activedescendant).
 */
export function Grid(props: GridProps) {
  const { label, columns, rowCount, totalRows, selection, onSelect, version, ticked, editing } = props
  const { onReachEnd, onView, firstNumber = 1 } = props
  const id = useId()
  const scroller = useRef<HTMLDivElement>(null)
  const shown = useWindow(scroller, columns, rowCount, editing)
  const { firstRow, lastRow } = shown
  useEffect(() => {
    if (lastRow >= rowCount - reachRows) onReachEnd?.()
  }, [lastRow, rowCount, onReachEnd])
  useEffect(() => onView?.(firstRow, lastRow), [firstRow, lastRow, onView])
  useAnchor({ shown, rowCount, rowKey: props.rowKey, selection, onSelect })

  const extent = {
    rows: rowCount,
    columns: columns.length,
    page: Math.max(1, Math.floor(((scroller.current?.clientHeight ?? 400) - headerHeight) / rowHeight) - 1),
  }
  const active = clampCell(selection.focus, extent)
  const range = rangeOf({ anchor: clampCell(selection.anchor, extent), focus: active })
  const cellId = ({ row, column }: CellPosition) => `${id}-${row}-${column}`

  const select = (next: Selection) => {
    onSelect(next)
    shown.reveal(next.focus)
  }

  const press = (event: React.KeyboardEvent) => {
    // Keys typed into an editor inside the grid belong to the editor.
    if (event.target !== event.currentTarget || event.altKey || rowCount === 0) return
    const key = { key: event.key, shift: event.shiftKey, mod: event.ctrlKey || event.metaKey }
    const moved = moveSelection({ ...selection, focus: active }, key, extent)
    if (moved !== undefined) select(moved)
    else if (event.key === 'Enter' && key.mod) props.onOpenRow?.(active.row)
    else if (event.key === 'Enter' || event.key === 'F2') props.onEdit?.({ ...active, typed: undefined })
    else if (event.key === ' ') props.onTick?.(active.row)
    else if ((event.key === 'Delete' || event.key === 'Backspace') && !key.mod) props.onClear?.(range)
    else if (event.key === 'Escape' && isLarger(range)) select(selectCell(active))
    else if (isTyped(key) && props.onEdit !== undefined) props.onEdit({ ...active, typed: event.key })
    else return
    event.preventDefault()
    event.stopPropagation()
  }

  const copy = (event: React.ClipboardEvent) => {
    if (event.target !== event.currentTarget) return
    event.preventDefault()
    event.clipboardData.setData('text/plain', formatTabs(cellsOf(props, range)))
  }

  const paste = (event: React.ClipboardEvent) => {
    if (event.target !== event.currentTarget || props.onPaste === undefined) return
    event.preventDefault()
    props.onPaste(range, parseTabs(event.clipboardData.getData('text/plain')))
  }

  // A new function must not render the rows again, so the rows call the latest one through a stable function.
  const latest = useRef(props)
  latest.current = props
  const act = useCallback((action: RowAction, position: CellPosition, isExtending: boolean) => {
    const { onTick, onOpenRow, onEdit, onSelect: onSelection, selection: current } = latest.current
    if (action === 'tick') onTick?.(position.row)
    else if (action === 'open') onOpenRow?.(position.row)
    else if (action === 'edit') onEdit?.({ ...position, typed: undefined })
    else onSelection(isExtending ? { anchor: current.anchor, focus: position } : selectCell(position))
  }, [])

  return (
    <div
      ref={scroller}
      className={styles.grid}
      role="grid"
      tabIndex={0}
      aria-label={label}
      aria-rowcount={totalRows === undefined ? -1 : totalRows + 1}
      aria-colcount={columns.length + 1}
      aria-multiselectable
      aria-activedescendant={rowCount === 0 ? undefined : cellId(active)}
      onKeyDown={press}
      onCopy={copy}
      onPaste={paste}
    >
      <div role="presentation" className={styles.sizer} style={{ width: shown.width, height: shown.height }}>
        <GridHeader
          columns={columns}
          placed={shown.columns}
          pinned={shown.pinned}
          width={shown.width}
          sort={props.sort}
          onSort={props.onSort}
          onResize={props.onResize}
          onMove={props.onMove}
          onTickAll={props.onTickAll}
        />
        <div role="rowgroup">
          {shown.rows.map((row) => (
            <GridRow
              key={row}
              index={row}
              number={firstNumber + row}
              width={shown.width}
              columns={columns}
              placed={shown.columns}
              pinned={shown.pinned}
              cell={props.cell}
              version={version}
              state={props.rowState?.(row)}
              isTicked={ticked?.has(props.rowKey(row)) === true}
              activeColumn={row === active.row ? active.column : -1}
              left={inside(row, range) ? range.left : -1}
              right={inside(row, range) ? range.right : -1}
              editingColumn={editing?.row === row ? editing.column : -1}
              editor={editing?.row === row ? props.editor : undefined}
              id={id}
              canTick={props.onTick !== undefined}
              canOpen={props.onOpenRow !== undefined}
              on={act}
            />
          ))}
        </div>
      </div>
      {rowCount === 0 && <div className={styles.empty}>{props.empty}</div>}
    </div>
  )
}

const inside = (row: number, { top, bottom }: Range) => row >= top && row <= bottom

const isLarger = ({ top, bottom, left, right }: Range) => top !== bottom || left !== right

/** Returns the texts of a range. */
export function cellsOf(
  { columns, cell }: Pick<GridProps, 'columns' | 'cell'>,
  { top, bottom, left, right }: Range,
): (string | null)[][] {
  const shown = columns.slice(left, right + 1)
  return Array.from({ length: bottom - top + 1 }, (_, index) =>
    shown.map((column) => cell(top + index, column).text),
  )
}
