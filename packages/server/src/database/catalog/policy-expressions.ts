import { quoteName } from '../sql.ts'
import type { Index, Policy, Relation } from './model.ts'

/** Expressions of policies as PostgreSQL prints them. Pure. */

/** The conditions that an expression joins by AND and OR, at whatever depth, without parentheses around them. */
export function conditionsOf(expression: string): readonly string[] {
  const inner = withoutParentheses(expression)
  const parts = splitAt(inner, 'AND') ?? splitAt(inner, 'OR')
  return parts === undefined ? [inner] : parts.flatMap(conditionsOf)
}

/** Returns whether one of several conditions shows a row, so that no index of one of them finds them all. */
export function hasAlternatives(expression: string): boolean {
  const inner = withoutParentheses(expression)
  const parts = splitAt(inner, 'AND')
  return parts === undefined ? splitAt(inner, 'OR') !== undefined : parts.every(hasAlternatives)
}

/** The columns of which an expression asks which rows have a value. */
export function comparedColumns(expression: string, { columns }: Pick<Policy, 'columns'>): readonly string[] {
  return (columns ?? []).filter((name) => isCompared(expression, name))
}

function isCompared(expression: string, name: string): boolean {
  // Not the argument of a function.
  const column = `(?<!\\w\\(+)${columnPattern(name)}(?:::[\\w ]+)?(?![\\w."])`
  return new RegExp(`${column}\\)* = |= (?:ANY \\()?\\(*${column}`).test(maskFor(expression, name))
}

/** Returns whether the expression, outside of its subqueries, reads the column. */
export function mentions(expression: string, name: string): boolean {
  return new RegExp(`${columnPattern(name)}(?![\\w."(])`).test(maskFor(expression, name))
}

function columnPattern(name: string): string {
  return `(?<![\\w."])${quoteName(name).replace(/[^\w]/g, '\\$&')}`
}

function maskFor(expression: string, name: string): string {
  return quoteName(name) === name ? maskTexts(expression) : expression
}

/** Returns whether an index of all rows begins with the columns, in whatever order. */
export function startsIndex({ indexes }: { readonly indexes: readonly Index[] }, columns: readonly string[]) {
  return indexes.some(({ isValid, isPartial, columns: keys }) => {
    const first = keys?.slice(0, columns.length) ?? []
    return isValid && !isPartial && columns.every((name) => first.includes(name))
  })
}

/** Returns whether an index finds the rows that the policy shows. */
export function isFoundByIndex(relation: Relation, policy: Pick<Policy, 'using' | 'columns'>): boolean {
  const { using } = policy
  return (
    using !== undefined &&
    !hasAlternatives(using) &&
    conditionsOf(using).some((condition) =>
      comparedColumns(condition, policy).some((name) => startsIndex(relation, [name])),
    )
  )
}

/** Texts and quoted names as blanks of the same length, so that what they hold is not taken for SQL. */
export function maskTexts(expression: string): string {
  return expression.replace(/'(?:[^']|'')*'|"(?:[^"]|"")*"/g, (text) => ' '.repeat(text.length))
}

/** Subqueries as blanks of the same length. */
export function maskSubqueries(expression: string): string {
  const masked = maskTexts(expression)
  let shown = expression
  for (const { index } of masked.matchAll(/\(\s*SELECT\b/g)) {
    const end = closingOf(masked, index)
    shown = shown.slice(0, index) + ' '.repeat(end + 1 - index) + shown.slice(end + 1)
  }
  return shown
}

/** The position of the parenthesis that closes the one at the position. */
export function closingOf(text: string, opening: number): number {
  let depth = 0
  for (let position = opening; position < text.length; position += 1) {
    if (text[position] === '(') depth += 1
    if (text[position] === ')') depth -= 1
    if (depth === 0) return position
  }
  return text.length - 1
}

function withoutParentheses(expression: string): string {
  const text = expression.trim()
  return text.startsWith('(') && closingOf(maskTexts(text), 0) === text.length - 1
    ? withoutParentheses(text.slice(1, -1))
    : text
}

/** The operands of a word outside of parentheses; undefined where there is none. */
function splitAt(text: string, word: 'AND' | 'OR'): readonly string[] | undefined {
  const masked = maskTexts(text)
  const parts: string[] = []
  let depth = 0
  let start = 0
  for (let position = 0; position < masked.length; position += 1) {
    if (masked[position] === '(') depth += 1
    if (masked[position] === ')') depth -= 1
    if (depth === 0 && masked.startsWith(` ${word} `, position)) {
      parts.push(text.slice(start, position))
      start = position + word.length + 2
    }
  }
  // BETWEEN has an AND of its own.
  if (parts.length === 0 || / BETWEEN /.test(masked)) return undefined
  return [...parts, text.slice(start)]
}
