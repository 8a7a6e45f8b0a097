/** Fenced block of a page, with the comment above it on how to run it. */
export interface Block {
  readonly language: string
  readonly text: string
  /** Line of its fence in the page. */
  readonly line: number
  readonly mark: Mark | undefined
}

/**
 * Mark above a block:
 *
 * - `<!-- not run: reason -->`: a test cannot run the block
 * - `<!-- terminal: name -->`: commands keep running in a terminal of their own and replace those that ran there;
 *   output is that of the terminal
 * - `<!-- file: name -->`: a file of that name, in the working directory
 */
export interface Mark {
  readonly kind: 'not run' | 'terminal' | 'file'
  readonly value: string
}

/** Lists the fenced blocks of a Markdown page in order. */
export function readBlocks(page: string): Block[] {
  const lines = page.split('\n')
  const blocks: Block[] = []
  for (let index = 0; index < lines.length; index += 1) {
    const fence = /^```(.*)$/.exec(lines[index] ?? '')
    if (fence === null) continue
    const end = lines.indexOf('```', index + 1)
    if (end === -1) throw new Error(`line ${index + 1}: the block does not end`)
    blocks.push({
      language: fence[1] ?? '',
      text: lines.slice(index + 1, end).join('\n'),
      line: index + 1,
      mark: readMark(lines.slice(0, index)),
    })
    index = end
  }
  return blocks
}

/** Reads the comment above a block. Formatters put an empty line between them. */
function readMark(above: readonly string[]): Mark | undefined {
  const nearest = above.findLast((line) => line.trim() !== '') ?? ''
  const comment = /^<!--(.*)-->$/.exec(nearest)?.[1]
  if (comment === undefined) return undefined
  const [, kind, value] = /^ (not run|terminal|file): (\S.*) $/.exec(comment) ?? []
  if (kind === undefined || value === undefined) throw new Error(`unknown mark: ${nearest}`)
  // The expression has listed the kinds.
  return { kind: kind as Mark['kind'], value }
}
