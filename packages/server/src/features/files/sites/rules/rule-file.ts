/** A line that is no rule. */
export interface RuleFault {
  readonly file: string
  readonly line: number
  readonly problem: string
}

/** A line with something on it. */
export interface RuleLine {
  readonly number: number
  readonly text: string
}

export const maxRuleFileBytes = 256 * 1024
const maxLineLength = 2000

/** Lines without comments, which begin with `#` at the start or after a space, and without those that are empty. */
export function readRuleLines(text: string): RuleLine[] {
  return text
    .replace(/^\ufeff/, '')
    .split(/\r?\n/)
    .map((line, index) => ({ number: index + 1, text: line.replace(/(^|\s)#.*$/, '').trimEnd() }))
    .filter((line) => line.text !== '')
}

/** What is wrong with any line, whatever it says. */
export function findLineProblem({ text }: RuleLine): string | undefined {
  if (text.length > maxLineLength) return `a line has at most ${maxLineLength} characters`
  return /[^\t\P{Cc}]/u.test(text) || !text.isWellFormed()
    ? 'a line must not have control characters'
    : undefined
}
