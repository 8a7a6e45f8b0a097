/** A fenced block of a page, and what the comment above it says about how it is run. */
export interface Block {
  readonly language: string
  readonly text: string
  /** Of its fence in the page. */
  readonly line: number
  readonly mark: Mark | undefined
}

/**
 * - `<!-- not run: reason -->`: the block cannot be run by a test
 * - `<!-- terminal: name -->`: of commands, they keep running in a terminal of their own, in place of what ran there;
 *   of output, it is what that terminal shows
 * - `<!-- file: name -->`: a file of that name, in the working directory
 */
export interface Mark {
  readonly kind: 'not run' | 'terminal' | 'file'
  readonly value: string
}

/** Every fenced block of a page in Markdown, in its order. */
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

/** The comment above a block; an empty line between them is what formatters put there. */
function readMark(above: readonly string[]): Mark | undefined {
  const nearest = above.findLast((line) => line.trim() !== '') ?? ''
  const comment = /^<!--(.*)-->$/.exec(nearest)?.[1]
  if (comment === undefined) return undefined
  const [, kind, value] = /^ (not run|terminal|file): (\S.*) $/.exec(comment) ?? []
  if (kind === undefined || value === undefined) throw new Error(`unknown mark: ${nearest}`)
  // The expression has listed the kinds.
  return { kind: kind as Mark['kind'], value }
}
