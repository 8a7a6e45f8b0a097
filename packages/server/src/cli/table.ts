type Row = readonly (string | null)[]

/** Formats rows as a table for people; NULL is an empty cell. */
export function formatTable(names: readonly string[], rows: readonly Row[]): string {
  const { head, format } = layOutTable(names, rows)
  return head + format(rows)
}

/** Lays out a table that is printed in parts. @param rows that determine the widths of the columns */
export function layOutTable(names: readonly string[], rows: readonly Row[]) {
  const cellsOf = (row: Row) => row.map((cell) => showControls(cell ?? ''))
  const cells = [names, ...rows].map(cellsOf)
  const widths = names.map((_, column) =>
    cells.reduce((widest, row) => Math.max(widest, [...(row[column] ?? '')].length), 0),
  )
  const format = (some: readonly Row[]) => some.map((row) => `${align(cellsOf(row), widths)}\n`).join('')
  const rule = widths.map((width) => '-'.repeat(width)).join('  ')
  return { head: `${format([names])}${rule}\n`, format }
}

function align(cells: readonly string[], widths: readonly number[]): string {
  return cells
    .map((cell, column) => cell + ' '.repeat(Math.max(0, (widths[column] ?? 0) - [...cell].length)))
    .join('  ')
    .trimEnd()
}

/** Replaces characters that would move the cursor or color the terminal by visible ones: `↵`, `\x1b`. */
export function showControls(text: string): string {
  return text.replaceAll('\n', '↵').replace(controls, (character) => {
    const code = character.charCodeAt(0).toString(16)
    return code.length > 2 ? `\\u${code}` : `\\x${code.padStart(2, '0')}`
  })
}

/** Pattern of C0 and C1 controls, and of those that change the direction of text. */
const controls = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu

export function formatBytes(bytes: number): string {
  if (bytes < 1_000_000) return `${Math.ceil(bytes / 1000)} kB`
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`
}
