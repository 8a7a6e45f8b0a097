/** Layout of the tables of a diagram. It is pure, and equal for equal tables. */

export interface Size {
  readonly id: string
  readonly width: number
  readonly height: number
}

export interface Edge {
  readonly from: string
  readonly to: string
}

export interface Box extends Size {
  readonly x: number
  readonly y: number
}

export interface Layout {
  readonly boxes: ReadonlyMap<string, Box>
  readonly width: number
  readonly height: number
}

const columnGap = 90
const rowGap = 24
const groupGap = 70
/** Number of passes that move tables closer to the tables they reference. */
const sweeps = 4

/**
 * Computes the layout. Connected tables are close to each other, with referenced tables on the left and referencing tables on
 * the right. The columns are not much higher than the whole diagram is wide.
 */
export function layOut(sizes: readonly Size[], edges: readonly Edge[]): Layout {
  const known = new Set(sizes.map(({ id }) => id))
  const links = edges.filter(({ from, to }) => from !== to && known.has(from) && known.has(to))
  const area = sizes.reduce((sum, { width, height }) => sum + (width + columnGap) * (height + rowGap), 0)
  const tallest = Math.max(0, ...sizes.map(({ height }) => height))
  const mostHeight = Math.max(tallest, Math.sqrt(area) * 0.8)
  const groups = findGroups(sizes, links)
  const single = groups.filter((group) => group.length === 1).flat()
  const connected = groups.filter((group) => group.length > 1)
  const parts = [
    ...connected.map((group) => columnsOf(group, links)),
    ...(single.length > 0 ? [[single]] : []),
  ]
  return pack(
    parts.map((columns) => centerColumns(columns.flatMap((column) => split(column, mostHeight)))),
    Math.sqrt(area) * 1.3,
  )
}

/** Finds the groups of tables connected by references, the largest group first. */
function findGroups(sizes: readonly Size[], edges: readonly Edge[]): Size[][] {
  const neighbours = new Map(sizes.map(({ id }) => [id, [] as string[]]))
  for (const { from, to } of edges) {
    neighbours.get(from)?.push(to)
    neighbours.get(to)?.push(from)
  }
  const groupOf = new Map<string, number>()
  let count = 0
  for (const { id } of sizes) {
    if (groupOf.has(id)) continue
    const waiting = [id]
    for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
      if (groupOf.has(next)) continue
      groupOf.set(next, count)
      waiting.push(...(neighbours.get(next) ?? []))
    }
    count += 1
  }
  const groups = Array.from({ length: count }, (): Size[] => [])
  for (const size of sizes) groups[groupOf.get(size.id) ?? 0]?.push(size)
  return groups.sort((one, other) => other.length - one.length)
}

/**
 * Splits a group into columns by the distance from a table without references. Within a column, the order has few crossings.
 */
function columnsOf(group: readonly Size[], edges: readonly Edge[]): Size[][] {
  const ranks = rank(group, edges)
  const columns: Size[][] = []
  for (const size of group) {
    const column = ranks.get(size.id) ?? 0
    while (columns.length <= column) columns.push([])
    columns[column]?.push(size)
  }
  const neighbours = new Map(group.map(({ id }) => [id, [] as string[]]))
  for (const { from, to } of edges) {
    neighbours.get(from)?.push(to)
    neighbours.get(to)?.push(from)
  }
  for (let sweep = 0; sweep < sweeps; sweep += 1) {
    const ordered = sweep % 2 === 0 ? columns : columns.toReversed()
    for (const column of ordered) {
      const positions = new Map(
        columns.flatMap((each) => each.map(({ id }, index) => [id, (index + 0.5) / each.length] as const)),
      )
      const middle = ({ id }: Size) => {
        const near = neighbours.get(id) ?? []
        return near.reduce((sum, each) => sum + (positions.get(each) ?? 0), 0) / Math.max(1, near.length)
      }
      const middles = new Map(column.map((size) => [size.id, middle(size)]))
      column.sort((one, other) => (middles.get(one.id) ?? 0) - (middles.get(other.id) ?? 0))
    }
  }
  return columns
}

/** Returns the length of the longest path along references. References that close a circle do not count. */
function rank(group: readonly Size[], edges: readonly Edge[]): Map<string, number> {
  const targets = new Map(group.map(({ id }) => [id, [] as string[]]))
  for (const { from, to } of edges) targets.get(from)?.push(to)
  const ranks = new Map<string, number>()
  const open = new Set<string>()
  const rankOf = (id: string): number => {
    const found = ranks.get(id)
    if (found !== undefined) return found
    open.add(id)
    const below = (targets.get(id) ?? [])
      .filter((target) => !open.has(target))
      .map((target) => rankOf(target) + 1)
    open.delete(id)
    const result = Math.max(0, ...below)
    ranks.set(id, result)
    return result
  }
  for (const { id } of group) rankOf(id)
  return ranks
}

/** Splits a column that is too high into several columns. */
function split(column: readonly Size[], mostHeight: number): Size[][] {
  const columns: Size[][] = [[]]
  let height = 0
  for (const size of column) {
    if (height > 0 && height + size.height > mostHeight) {
      columns.push([])
      height = 0
    }
    columns.at(-1)?.push(size)
    height += size.height + rowGap
  }
  return columns
}

interface Part {
  readonly boxes: readonly Box[]
  readonly width: number
  readonly height: number
}

/** Centers each column vertically. */
function centerColumns(columns: readonly (readonly Size[])[]): Part {
  const heightOf = (column: readonly Size[]) =>
    column.reduce((sum, { height }) => sum + height + rowGap, 0) - rowGap
  const height = Math.max(...columns.map(heightOf))
  const boxes: Box[] = []
  let x = 0
  for (const column of columns) {
    let y = (height - heightOf(column)) / 2
    for (const size of column) {
      boxes.push({ ...size, x, y })
      y += size.height + rowGap
    }
    x += Math.max(...column.map(({ width }) => width)) + columnGap
  }
  return { boxes, width: x - columnGap, height }
}

/** Arranges the parts side by side, in rows of about the given width. */
function pack(parts: readonly Part[], mostWidth: number): Layout {
  const boxes = new Map<string, Box>()
  let [x, y, rowHeight, width] = [0, 0, 0, 0]
  for (const part of parts) {
    if (x > 0 && x + part.width > mostWidth) {
      y += rowHeight + groupGap
      ;[x, rowHeight] = [0, 0]
    }
    for (const box of part.boxes) boxes.set(box.id, { ...box, x: box.x + x, y: box.y + y })
    width = Math.max(width, x + part.width)
    rowHeight = Math.max(rowHeight, part.height)
    x += part.width + groupGap
  }
  return { boxes, width, height: y + rowHeight }
}
