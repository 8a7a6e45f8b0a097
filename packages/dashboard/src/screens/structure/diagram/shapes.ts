import type { DiagramReference, DiagramTable } from '../api.ts'
import type { Box, Size } from './layout.ts'

/** Sizes of the shapes, in units of the diagram. */
export const headHeight = 26
export const rowHeight = 18
const footHeight = 6
export const padding = 8
const leastWidth = 120
/** Width of a wide character, so that narrower text fits. */
const characterWidth = 7.2
const titleCharacterWidth = 8.4
const mostCharacters = 34
/** Maximum number of columns of one table. The page of the table lists all. */
const mostRows = 60

export interface Row {
  readonly name: string
  readonly type: string
  readonly isKey: boolean
}

/** Shape of a table in the diagram. */
export interface Shape extends Size {
  readonly table: DiagramTable
  readonly title: string
  readonly rows: readonly Row[]
  /** Number of hidden columns. */
  readonly hidden: number
}

export type ShapeLayout = Shape & Box

export const idOfTable = ({ schema, name }: { readonly schema: string; readonly name: string }) =>
  JSON.stringify([schema, name])

/** Returns the title of a table, with its schema unless that is `public`. */
export const titleOf = ({ schema, name }: { readonly schema: string; readonly name: string }) =>
  schema === 'public' ? name : `${schema}.${name}`

export const cut = (text: string) =>
  text.length > mostCharacters ? `${text.slice(0, mostCharacters - 1)}…` : text

/** Computes the shapes of tables. @param showsAll true for all columns; otherwise only those of keys and references */
export function shapesOf(
  tables: readonly DiagramTable[],
  references: readonly DiagramReference[],
  showsAll: boolean,
): Shape[] {
  const referring = new Set(
    references.flatMap(({ from }) => from.columns.map((column) => JSON.stringify([idOfTable(from), column]))),
  )
  return tables.map((table) => {
    const id = idOfTable(table)
    const wanted = table.columns.filter(
      ({ name, isKey }) => showsAll || isKey || referring.has(JSON.stringify([id, name])),
    )
    const rows = wanted.slice(0, mostRows)
    const title = titleOf(table)
    const widest = Math.max(
      cut(title).length * titleCharacterWidth + 2 * padding,
      ...rows.map(
        ({ name, type }) => (cut(name).length + cut(type).length + 1) * characterWidth + 2 * padding,
      ),
    )
    return {
      id,
      table,
      title,
      rows,
      hidden: showsAll ? table.columns.length - rows.length : 0,
      width: Math.round(Math.max(leastWidth, widest)),
      height:
        headHeight +
        (rows.length + (showsAll && wanted.length > rows.length ? 1 : 0)) * rowHeight +
        footHeight,
    }
  })
}

/** Computes the curve from a referencing column to the referenced column. */
export function curveOf(reference: DiagramReference, from: ShapeLayout, to: ShapeLayout): string {
  const y1 = from.y + heightOf(from, reference.from.columns[0])
  const y2 = to.y + heightOf(to, reference.to.columns[0])
  const isLeft = to.x + to.width <= from.x
  const isRight = from.x + from.width <= to.x
  const x1 = isLeft || !isRight ? (isLeft ? from.x : from.x + from.width) : from.x + from.width
  const x2 = isLeft || !isRight ? to.x + to.width : to.x
  const bend = Math.max(40, Math.abs(x2 - x1) / 2)
  const c1 = isLeft ? x1 - bend : x1 + bend
  const c2 = isRight ? x2 - bend : x2 + bend
  return `M${x1} ${y1}C${c1} ${y1} ${c2} ${y2} ${x2} ${y2}`
}

/** Returns the vertical center of a column's row, or of the head if the column is hidden. */
function heightOf(shape: Shape, column: string | undefined): number {
  const row = shape.rows.findIndex(({ name }) => name === column)
  return row === -1 ? headHeight / 2 : headHeight + (row + 0.5) * rowHeight
}
