/** Rows as a table for people; NULL is shown as an empty cell. */
export function formatTable(names: readonly string[], rows: readonly (readonly (string | null)[])[]): string {
  const cells = [names, ...rows].map((row) => row.map((cell) => (cell ?? '').replaceAll('\n', '↵')))
  const widths = names.map((_, column) => Math.max(...cells.map((row) => [...(row[column] ?? '')].length)))
  const lines = cells.map((row) =>
    row
      .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - [...cell].length))
      .join('  ')
      .trimEnd(),
  )
  const rule = widths.map((width) => '-'.repeat(width)).join('  ')
  return `${[lines[0], rule, ...lines.slice(1)].join('\n')}\n`
}
