/** Line that is not a valid rule. */
export interface RuleFault {
  readonly file: string
  readonly line: number
  readonly problem: string
}

/** Line with content. */
export interface RuleLine {
  readonly number: number
  readonly text: string
}

export const maxRuleFileBytes = 256 * 1024
const maxLineLength = 2000

/**
 * Returns the lines without comments and empty lines. A comment begins with `#` at the start of a line or after a
 * space.
 */
export function readRuleLines(text: string): RuleLine[] {
  return text
    .replace(/^\ufeff/, '')
    .split(/\r?\n/)
    .map((line, index) => ({ number: index + 1, text: line.replace(/(^|\s)#.*$/, '').trimEnd() }))
    .filter((line) => line.text !== '')
}

/** Returns the problem that makes a line invalid in every rule file, if any. */
export function findLineProblem({ text }: RuleLine): string | undefined {
  if (text.length > maxLineLength) return `a line has at most ${maxLineLength} characters`
  return /[^\t\P{Cc}]/u.test(text) || !text.isWellFormed()
    ? 'a line must not have control characters'
    : undefined
}
