import { quoteName } from '../sql.ts'
import type { Index, Policy, Relation } from './model.ts'

/**
 * Splits an expression, as PostgreSQL prints it, into the conditions of AND and OR at any depth, without
 * surrounding parentheses. Pure.
 */
export function conditionsOf(expression: string): readonly string[] {
  const inner = withoutParentheses(expression)
  const parts = splitAt(inner, 'AND') ?? splitAt(inner, 'OR')
  return parts === undefined ? [inner] : parts.flatMap(conditionsOf)
}

/**
 * Returns true if one of several conditions can admit a row, so that no index of one of them finds all rows.
 */
export function hasAlternatives(expression: string): boolean {
  const inner = withoutParentheses(expression)
  const parts = splitAt(inner, 'AND')
  return parts === undefined ? splitAt(inner, 'OR') !== undefined : parts.every(hasAlternatives)
}

/** Returns the columns whose values the expression compares. */
export function comparedColumns(expression: string, { columns }: Pick<Policy, 'columns'>): readonly string[] {
  return (columns ?? []).filter((name) => isCompared(expression, name))
}

function isCompared(expression: string, name: string): boolean {
  // The column is not the argument of a function.
  const column = `(?<!\\w\\(+)${columnPattern(name)}(?:::[\\w ]+)?(?![\\w."])`
  return new RegExp(`${column}\\)* = |= (?:ANY \\()?\\(*${column}`).test(maskFor(expression, name))
}

/** Returns true if the expression, outside of its subqueries, reads the column. */
export function mentions(expression: string, name: string): boolean {
  return new RegExp(`${columnPattern(name)}(?![\\w."(])`).test(maskFor(expression, name))
}

function columnPattern(name: string): string {
  return `(?<![\\w."])${quoteName(name).replace(/[^\w]/g, '\\$&')}`
}

function maskFor(expression: string, name: string): string {
  return quoteName(name) === name ? maskTexts(expression) : expression
}

/** Returns true if an index of all rows begins with the columns, in any order. */
export function startsIndex({ indexes }: { readonly indexes: readonly Index[] }, columns: readonly string[]) {
  return indexes.some(({ isValid, isPartial, columns: keys }) => {
    const first = keys?.slice(0, columns.length) ?? []
    return isValid && !isPartial && columns.every((name) => first.includes(name))
  })
}

/** Returns true if an index finds the rows that the policy admits. */
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

/** Replaces texts and quoted names by blanks of the same length, so that their content is not read as SQL. */
export function maskTexts(expression: string): string {
  return expression.replace(/'(?:[^']|'')*'|"(?:[^"]|"")*"/g, (text) => ' '.repeat(text.length))
}

/** Replaces subqueries by blanks of the same length. */
export function maskSubqueries(expression: string): string {
  const masked = maskTexts(expression)
  let shown = expression
  for (const { index } of masked.matchAll(/\(\s*SELECT\b/g)) {
    const end = closingOf(masked, index)
    shown = shown.slice(0, index) + ' '.repeat(end + 1 - index) + shown.slice(end + 1)
  }
  return shown
}

/** Returns the position of the parenthesis that closes the one at a position. */
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

/** Returns the operands of a word outside of parentheses; undefined where it does not occur. */
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
