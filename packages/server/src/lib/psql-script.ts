import { readTokens } from './sql-statements.ts'

/** Part of a script as psql, the reader of pg_dump's output, splits it. */
export type ScriptPart = { readonly start: number } & (
  | { readonly kind: 'sql'; readonly text: string }
  /** A `copy … from stdin` with the rows that follow it. */
  | { readonly kind: 'copy'; readonly command: string; readonly rows: string }
  /** A command of psql itself: `\connect`. */
  | { readonly kind: 'command'; readonly name: string }
)

const copyFromInput = /^copy\s[\s\S]*\sfrom\s+stdin\b/i
/** Pattern of the line that ends the rows of a COPY. */
const endOfRows = /^\\\.[ \t]*\r?(?:\n|$)/m

/**
 * Splits a script at the parts that PostgreSQL itself cannot read: rows of COPY, and commands with a backslash
 * in place of a statement.
 */
export function splitPsqlScript(script: string): readonly ScriptPart[] {
  const parts: ScriptPart[] = []
  let position = 0
  while (position < script.length) {
    const found = findForeignPart(script, position)
    const end = found?.start ?? script.length
    const start = end - script.slice(position, end).trimStart().length
    if (start < end) parts.push({ kind: 'sql', text: script.slice(start, end), start })
    if (found === undefined) break
    parts.push(found.part)
    position = found.end
  }
  return parts
}

interface ForeignPart {
  readonly start: number
  readonly end: number
  readonly part: ScriptPart
}

/** Finds the first part from the position on that is not SQL. */
function findForeignPart(script: string, from: number): ForeignPart | undefined {
  let start: number | undefined
  for (const { kind, text, start: position } of readTokens(script, from)) {
    if (start === undefined && text === '\\') return readCommand(script, position)
    start ??= position
    if (kind !== 'other' || text !== ';') continue
    const statement = script.slice(start, position)
    if (copyFromInput.test(statement)) return readCopy(script, start, position + 1)
    start = undefined
  }
  return undefined
}

function readCommand(script: string, start: number): ForeignPart {
  const end = endOfLine(script, start)
  const [name = ''] = script.slice(start, end).split(/\s/, 1)
  return { start, end, part: { kind: 'command', name, start } }
}

/** Reads the rows of a COPY. @param statementEnd after its semicolon; the rows begin on the next line */
function readCopy(script: string, start: number, statementEnd: number): ForeignPart {
  const begin = endOfLine(script, statementEnd)
  const found = endOfRows.exec(script.slice(begin))
  const length = found === null ? script.length - begin : found.index
  const command = script.slice(start, statementEnd)
  const rows = script.slice(begin, begin + length)
  return {
    start,
    end: begin + length + (found?.[0].length ?? 0),
    part: { kind: 'copy', command, rows, start },
  }
}

function endOfLine(script: string, from: number): number {
  const end = script.indexOf('\n', from)
  return end === -1 ? script.length : end + 1
}
