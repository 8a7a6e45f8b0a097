import { type Dispatch, type SetStateAction, useCallback } from 'react'
import type { CellPosition, EditRequest, GridColumn } from '../../grid/model.ts'
import type { Range } from '../../grid/selection.ts'
import { showToast } from '../../ui/toasts.ts'
import type { ColumnInfo, TableInfo, TableRow } from './api.ts'
import { type Changes, changeCell, changeNew, type NewRow, type Value } from './changes.ts'
import type { GridModel } from './grid-model.ts'
import { isComputed, kindOf } from './kinds.ts'
import { idOf } from './names.ts'
import { type PickedValues, sourceOf } from './reference-picker.tsx'

/** Cell that is being edited. */
export interface OpenCell extends CellPosition {
  readonly info: ColumnInfo
  /** Value; undefined if it is cut and has to be read. */
  readonly value: string | null | undefined
  readonly typed: string | undefined
  readonly rowId: string | undefined
  /** True to edit in the cell; false for a dialog. */
  readonly isInline: boolean
  /** Row of the row panel, which the grid may not contain. */
  readonly of?: TableRow
}

/** Row whose values are staged. */
type StagedOf =
  | { readonly kind: 'new'; readonly row: NewRow }
  | { readonly kind: 'read'; readonly row: TableRow }

interface EditingDeps {
  readonly opened: OpenCell | undefined
  readonly setOpened: Dispatch<SetStateAction<OpenCell | undefined>>
  readonly info: TableInfo
  readonly model: GridModel
  readonly columns: readonly GridColumn[]
  readonly isWritable: boolean
  readonly changes: Changes
  readonly setChanges: (changes: Changes) => void
}

/** Returns the functions that edit cells of a grid. The view holds the opened cell. */
export function useCellEditing({
  opened,
  setOpened,
  info,
  model,
  columns,
  isWritable,
  changes,
  setChanges,
}: EditingDeps) {
  /** Returns the changes with this value of a row. Computed values are left unchanged. */
  const stage = useCallback(
    (staged: Changes, shown: StagedOf | undefined, name: string | undefined, value: Value): Changes => {
      const target = info.columns.find((each) => each.name === name)
      if (target === undefined || shown === undefined || isComputed(target)) return staged
      if (shown.kind === 'new') return changeNew(staged, shown.row.id, target.name, value)
      return changeCell(staged, shown.row, target.name, value, readValue(info, shown.row, target.name))
    },
    [info],
  )

  const open = useCallback(
    ({ row, column, typed }: EditRequest) => {
      const name = columns[column]?.key
      const target = info.columns.find((each) => each.name === name)
      const shown = model.row(row)
      if (target === undefined || shown === undefined) return
      const value = model.value(row, target.name)
      const rowId = shown.kind === 'read' ? shown.id : undefined
      const { editor } = kindOf(target)
      const isShort = editor === 'line' || editor === 'choice'
      const isLong = value === undefined || (value !== null && (value.length > 200 || value.includes('\n')))
      const isReference = sourceOf(info, target.name) !== undefined && typed === undefined
      const isInline = isWritable && !isLong && !isReference && isShort
      if (!isWritable && !isLong && isShort) return showToast(reasonOf(info))
      if (isWritable && isComputed(target)) return showToast(`PostgreSQL computes ${target.name}.`)
      if (value === undefined && rowId === undefined) return showToast(reasonOf(info))
      setOpened({ row, column, info: target, value, typed, rowId, isInline })
    },
    [info, columns, model, isWritable, setOpened],
  )

  return {
    opened,
    open,
    close: useCallback(() => setOpened(undefined), [setOpened]),
    commit({ row, of }: OpenCell, values: PickedValues) {
      setOpened(undefined)
      const shown = of === undefined ? model.row(row) : ({ kind: 'read', row: of } as const)
      let staged = changes
      for (const [name, value] of Object.entries(values)) staged = stage(staged, shown, name, value)
      setChanges(staged)
    },
    /** Opens a cell of the row panel. */
    openOf(row: TableRow, name: string, value: string | null | undefined) {
      const target = info.columns.find((each) => each.name === name)
      if (target === undefined || row.key === null) return
      if (isComputed(target)) return showToast(`PostgreSQL computes ${name}.`)
      const rowId = idOf(row.key)
      const staged = changes.rows.get(rowId)?.values[name]
      setOpened({
        ...{ row: 0, column: 0, info: target, typed: undefined, rowId, isInline: false, of: row },
        value: staged === undefined ? value : staged,
      })
    },
    /** Pastes cells. A single cell fills the range, and several cells start at the first cell of the range. */
    paste(range: Range, cells: readonly (readonly string[])[]) {
      const [[single = ''] = []] = cells
      const isFill = cells.length === 1 && cells[0]?.length === 1
      const bottom = isFill ? range.bottom : Math.min(model.count - 1, range.top + cells.length - 1)
      let staged = changes
      for (let row = range.top; row <= bottom; row += 1) {
        const line = cells[row - range.top] ?? []
        const right = isFill ? range.right : Math.min(columns.length, range.left + line.length) - 1
        for (let column = range.left; column <= right; column += 1) {
          const value = isFill ? single : (line[column - range.left] ?? '')
          staged = stage(staged, model.row(row), columns[column]?.key, value)
        }
      }
      setChanges(staged)
    },
    /** Sets cells to NULL if their columns allow it. */
    clear({ top, bottom, left, right }: Range) {
      let staged = changes
      for (let row = top; row <= bottom; row += 1) {
        for (let column = left; column <= right; column += 1) {
          const target = info.columns.find(({ name }) => name === columns[column]?.key)
          if (target?.nullable === true) staged = stage(staged, model.row(row), target.name, null)
        }
      }
      setChanges(staged)
    },
  }
}

/** Returns the value that was read, or undefined if it was cut. */
function readValue({ columns }: TableInfo, { cells, sizes }: TableRow, name: string): Value {
  const position = columns.findIndex((column) => column.name === name)
  return sizes?.[position] === undefined ? (cells[position] ?? null) : undefined
}

/** Returns the reason why rows cannot be edited. */
function reasonOf({ kind, isWritable, primaryKey }: TableInfo): string {
  if (!isWritable) return `Rows of a ${kind.replace('_', ' ')} cannot be changed.`
  if (primaryKey.length === 0)
    return 'Rows of a table without a primary key cannot be changed here, because they cannot be identified.'
  return 'Rows that are read as a user cannot be changed.'
}
