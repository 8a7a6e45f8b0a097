import { type Extract, type Line, type Paragraph, splitParagraphs } from './prose.ts'

/** Marks of comments that fill a line, by extension. */
const marks: Readonly<Record<string, RegExp>> = {
  sql: /^\s*--+\s?(.*)$/,
  go: /^\s*\/\/\s?(.*)$/,
}

/** Extracts the comments of files in languages other than TypeScript: those that fill a line, and blocks of CSS. */
export function extractComments(file: string, source: string): Extract {
  const extension = file.split('.').at(-1) ?? ''
  const lines = source.split('\n').map((text, index) => ({ number: index + 1, text }))
  const blocks = extension === 'css' ? cssBlocks(source) : lineBlocks(lines, marks[extension] ?? hashMark)
  const paragraphs = blocks
    .flatMap((block) => splitParagraphs(block))
    .map((part): Paragraph => ({ file, medium: 'comment', lines: part }))
  return { paragraphs, names: [] }
}

/** Mark of comments in other files. Further indented lines are code. */
const hashMark = /^\s*#(?!!| {3})\s?(.*)$/

function lineBlocks(lines: readonly Line[], mark: RegExp): Line[][] {
  const blocks: Line[][] = [[]]
  for (const line of lines) {
    const text = mark.exec(line.text)?.[1]
    if (text === undefined) blocks.push([])
    else blocks.at(-1)?.push({ number: line.number, text })
  }
  return blocks
}

function cssBlocks(source: string): Line[][] {
  return [...source.matchAll(/\/\*([\s\S]*?)\*\//g)].map((match) => {
    const first = source.slice(0, match.index).split('\n').length
    return (match[1] ?? '')
      .split('\n')
      .map((text, index) => ({ number: first + index, text: text.replace(/^\s*\*\s?/, '') }))
  })
}
