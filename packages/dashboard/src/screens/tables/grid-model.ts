import { isNumeric } from '../../grid/clipboard.ts'
import { defaultWidth } from '../../grid/layout.ts'
import type { GridCell, GridColumn, RowState } from '../../grid/model.ts'
import { formatBytes } from '../../ui/format.ts'
import type { ColumnInfo, TableInfo, TableRow } from './api.ts'
import { rendererOf } from './cell-renderers.tsx'
import { type Changes, faultAt, type NewRow, type RowChange } from './changes.ts'
import { isLabeled } from './kinds.ts'
import { type Labels, labelAt } from './labels.ts'
import { idOf } from './names.ts'
import { sourceOf } from './reference-picker.tsx'
import type { View } from './use-view.ts'

/** Grid model of a table: new rows first, then the rows that were read. Pure. */

/** Returns all columns in the order of the view, pinned ones first. */
export function orderColumns({ columns }: TableInfo, { order, pinned }: View): readonly ColumnInfo[] {
  const positions = new Map(order.map((name, position) => [name, position]))
  const rank = ({ name }: ColumnInfo) =>
    (pinned.includes(name) ? 0 : 1e6) + (positions.get(name) ?? order.length)
  return columns.toSorted((a, b) => rank(a) - rank(b))
}

export function gridColumns(info: TableInfo, view: View): readonly GridColumn[] {
  return orderColumns(info, view)
    .filter(({ name }) => !view.hidden.includes(name))
    .map((column) => ({
      key: column.name,
      title: column.name,
      type: column.type,
      width: view.widths.get(column.name) ?? widthOf(info, column),
      isPinned: view.pinned.includes(column.name),
      note: noteOf(info, column),
      draw: rendererOf(column),
      ...(isNumeric(column.type) && !isLabeled(info, column.name) ? { align: 'end' as const } : {}),
    }))
}

function noteOf(info: TableInfo, { name, isPrimaryKey }: ColumnInfo): string | undefined {
  if (isPrimaryKey) return 'key'
  const source = sourceOf(info, name)
  return source === undefined ? undefined : `→ ${source}`
}

/** Returns the width of a column. A label is shorter than most keys, and the start of a UUID is enough to recognize it. */
function widthOf(info: TableInfo, { name, type, isPrimaryKey }: ColumnInfo): number {
  if (isLabeled(info, name)) return defaultWidth(name, 'label')
  return isPrimaryKey && type === 'uuid' ? defaultWidth(name, 'key') : defaultWidth(name, type)
}

export type ModelRow =
  | { readonly kind: 'new'; readonly row: NewRow }
  | {
      readonly kind: 'read'
      readonly row: TableRow
      readonly change: RowChange | undefined
      readonly id: string | undefined
    }

export interface GridModel {
  readonly count: number
  row(index: number): ModelRow | undefined
  cell(index: number, column: GridColumn): GridCell
  /** Returns the whole text of a cell, or undefined if the grid has only its beginning. */
  value(index: number, column: string): string | null | undefined
  state(index: number): RowState | undefined
  key(index: number): string
}

export function createModel(
  columns: readonly string[],
  rows: readonly TableRow[],
  changes: Changes,
  marked: ReadonlySet<string>,
  labels: Labels,
): GridModel {
  const positions = new Map(columns.map((name, position) => [name, position]))
  const { created } = changes

  const row = (index: number): ModelRow | undefined => {
    const added = created[index]
    if (added !== undefined) return { kind: 'new', row: added }
    const read = rows[index - created.length]
    if (read === undefined) return undefined
    const id = read.key === null ? undefined : idOf(read.key)
    return { kind: 'read', row: read, id, change: id === undefined ? undefined : changes.rows.get(id) }
  }

  const value = (index: number, name: string): string | null | undefined => {
    const shown = row(index)
    if (shown === undefined) return null
    if (shown.kind === 'new') return shown.row.values[name] ?? null
    const staged = shown.change?.values[name]
    if (staged !== undefined) return staged
    const position = positions.get(name) ?? -1
    return shown.row.sizes?.[position] === undefined ? (shown.row.cells[position] ?? null) : undefined
  }

  /** Returns the label of the user or row that a cell refers to. */
  const labelOf = (index: number, name: string) => {
    const label = labelAt(labels, name, (column) => value(index, column))
    return label === undefined ? {} : { label: label.slice(0, 600) }
  }

  return {
    count: created.length + rows.length,
    row,
    value,
    cell(index, { key: name }) {
      const shown = row(index)
      if (shown === undefined) return { text: '' }
      if (shown.kind === 'new') {
        const text = shown.row.values[name]
        const fault = faultAt(shown.row.fault, name)
        return text === undefined
          ? { text: '', note: 'default', fault: shown.row.fault?.columns.includes(name) ? fault : undefined }
          : { text: flatten(text), fault, ...labelOf(index, name) }
      }
      const staged = shown.change?.values[name]
      if (staged !== undefined) {
        const label = labelOf(index, name)
        return { text: flatten(staged), isChanged: true, fault: faultAt(shown.change?.fault, name), ...label }
      }
      const position = positions.get(name) ?? -1
      const size = shown.row.sizes?.[position]
      const text = shown.row.cells[position] ?? null
      return size === undefined
        ? { text: flatten(text), ...labelOf(index, name) }
        : { text: flatten(text), note: formatBytes(size) }
    },
    state(index) {
      const shown = row(index)
      if (shown === undefined) return undefined
      if (shown.kind === 'new') return 'created'
      const { change, id } = shown
      if (change?.present !== undefined || change?.fault !== undefined) return 'conflict'
      if (change?.isDeleted === true) return 'deleted'
      if (change !== undefined) return 'changed'
      return id !== undefined && marked.has(id) ? 'marked' : undefined
    },
    key(index) {
      const shown = row(index)
      if (shown?.kind === 'new') return `new ${shown.row.id}`
      return shown?.id ?? `position ${index - created.length}`
    },
  }
}

/** Shortens a typed text. A cell renders no more of it than of a text that was read. */
const flatten = (text: string | null) => (text === null || text.length <= 600 ? text : text.slice(0, 600))
