/** Source of one page of the site: its path below the content folder, without extension, and its Markdown. */
export interface SitePage {
  readonly path: string
  readonly title: string
  readonly description: string
  /** Further lines of the front matter. */
  readonly settings?: readonly string[]
  readonly body: string
}

/** Prints the file that the generator reads. */
export function printPage({ title, description, settings = [], body }: SitePage): string {
  const matter = [
    `title: ${JSON.stringify(title)}`,
    ...(description === '' ? [] : [`description: ${JSON.stringify(description)}`]),
    ...settings,
  ]
  return `---\n${matter.join('\n')}\n---\n\n${body.trim()}\n`
}

/** Escapes text that is not Markdown, except for its code spans. */
export function escapeText(text: string): string {
  return text
    .split(/(`[^`]*`)/)
    .map((part) => (part.startsWith('`') ? part : part.replaceAll(/[<>*_[\]\\]/g, '\\$&')))
    .join('')
}

/** Escapes Markdown for the cell of a table. */
export function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll(/\s*\n\s*/g, ' ')
}

/** Returns a table, or nothing without rows. */
export function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  if (rows.length === 0) return ''
  const line = (cells: readonly string[]) => `| ${cells.map(cell).join(' | ')} |`
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n')
}
