import { type Extract, type Line, type Medium, type Paragraph, splitParagraphs } from './prose.ts'

/**
 * Extracts the prose of a Markdown page: headings, paragraphs, list items and the cells of tables, without code blocks and
 * HTML comments. In a changelog, it stops at the first released version.
 */
export function extractPage(file: string, source: string): Extract {
  const paragraphs: Paragraph[] = []
  const add = (medium: Medium, lines: readonly Line[]) => {
    for (const part of splitParagraphs(lines)) paragraphs.push({ file, medium, lines: part })
  }
  let block: Line[] = []
  const flush = () => {
    add('page', block)
    block = []
  }
  for (const line of readLines(file, source)) {
    const text = line.text.replace(/^\s*>\s?/, '')
    if (/^#+\s/.test(text)) {
      flush()
      add('heading', [{ number: line.number, text: text.replace(/^#+\s+/, '') }])
    } else if (/^\s*\|/.test(text)) {
      flush()
      for (const cell of splitCells(text)) add('page', [{ number: line.number, text: cell }])
    } else {
      block.push({ number: line.number, text })
    }
  }
  flush()
  return { paragraphs, names: [] }
}

function readLines(file: string, source: string): Line[] {
  const lines: Line[] = []
  let fence: string | undefined
  let commented = false
  for (const [index, text] of source.split('\n').entries()) {
    const line = { number: index + 1, text }
    if (/(^|\/)CHANGELOG\.md$/.test(file) && /^## \[?\d/.test(text)) break
    const mark = /^\s*(```+|~~~+)/.exec(text)?.[1]
    if (fence !== undefined) {
      if (mark?.startsWith(fence) === true) fence = undefined
    } else if (mark !== undefined) {
      fence = mark
      lines.push({ ...line, text: '' })
    } else if (commented) {
      commented = !text.includes('-->')
    } else if (/^\s*<!--/.test(text) && !text.includes('-->')) {
      commented = true
    } else {
      lines.push({ ...line, text: text.replaceAll(/(`[^`]*`)|<!--.*?-->/g, '$1') })
    }
  }
  return lines
}

function splitCells(row: string): string[] {
  if (/^[\s|:-]+$/.test(row)) return []
  return row
    .replaceAll(/`[^`]*`/g, (code) => code.replaceAll('|', '¦'))
    .split(/(?<!\\)\|/)
    .map((cell) => cell.trim())
    .filter((cell) => cell !== '')
}
