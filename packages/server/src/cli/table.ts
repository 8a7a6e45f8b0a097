/** Rows as a table for people; NULL is shown as an empty cell. */
export function formatTable(names: readonly string[], rows: readonly (readonly (string | null)[])[]): string {
  const cells = [names, ...rows].map((row) => row.map((cell) => showControls(cell ?? '')))
  const widths = names.map((_, column) =>
    cells.reduce((widest, row) => Math.max(widest, [...(row[column] ?? '')].length), 0),
  )
  const lines = cells.map((row) =>
    row
      .map((cell, column) => cell + ' '.repeat((widths[column] ?? 0) - [...cell].length))
      .join('  ')
      .trimEnd(),
  )
  const rule = widths.map((width) => '-'.repeat(width)).join('  ')
  return `${[lines[0], rule, ...lines.slice(1)].join('\n')}\n`
}

/** Characters that would move the cursor or colour the terminal are shown instead: `↵`, `\x1b`. */
export function showControls(text: string): string {
  return text.replaceAll('\n', '↵').replace(controls, (character) => {
    const code = character.charCodeAt(0).toString(16)
    return code.length > 2 ? `\\u${code}` : `\\x${code.padStart(2, '0')}`
  })
}

/** C0 and C1 controls, and those that turn the direction of text around. */
const controls = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/gu

export function formatBytes(bytes: number): string {
  return bytes < 1_000_000 ? `${Math.ceil(bytes / 1000)} kB` : `${(bytes / 1_000_000).toFixed(1)} MB`
}
