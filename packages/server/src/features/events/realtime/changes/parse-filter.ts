import type { Condition, Value } from '../../../data/collections/index.ts'
import { realtimeErrors } from '../errors.ts'

const comparisons = { eq: '=', neq: '!=', gt: '>', gte: '>=', lt: '<', lte: '<=' } as const
type Comparison = keyof typeof comparisons

/** Operators as they are written. */
export const filterOperators = [...Object.keys(comparisons), 'in'] as readonly (Comparison | 'in')[]

/** Condition of the collections, limited to what stream filters can express. */
export type StreamCondition = Extract<Condition, { readonly kind: 'compare' | 'in' }>

/** Returns the operator of a condition as it is written. */
export function wordOf(condition: StreamCondition): string {
  if (condition.kind === 'in') return 'in'
  const isOfCondition = (word: string) => comparisons[word as Comparison] === condition.operator
  return Object.keys(comparisons).find(isOfCondition) ?? condition.operator
}

/** Returns the values of a condition as they are written. */
export function textsOf(condition: StreamCondition): readonly string[] {
  const values = condition.kind === 'in' ? condition.values : [condition.value]
  return values.flatMap((value) => value?.text ?? [])
}

const lengthLimit = 2000
const conditionLimit = 20

/** Patterns of the parts, from one position. Quotes are doubled inside quotes. */
const quoted = /"((?:[^"]|"")*)"/y
const bareName = /[^"=,]+/y
const operator = /([a-z]+)\./y
const bareValue = /[^,]*/y
const quotedValue = /"((?:[^"]|"")*)"(?=,|$)/y
/** Patterns of the values of `in`. */
const separator = /\|/y
const bareElement = /[^,|]*/y
const quotedElement = /"((?:[^"]|"")*)"(?=[,|]|$)/y

/**
 * Parses `column=operator.value`, joined by commas, as conditions of the collections. A name or value with a comma goes
 * in double quotes. Values of `in` are separated by `|`, and each may be in quotes. The README lists the differences
 * from a filter of a list.
 *
 * @throws AppError invalid_stream_filter
 */
export function parseFilter(text: string): readonly StreamCondition[] {
  if (text.length > lengthLimit) throw realtimeErrors.invalidStreamFilter(`at most ${lengthLimit} characters`)
  const conditions: StreamCondition[] = []
  let position = 0
  const take = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = position
    const match = pattern.exec(text)
    if (match !== null) position = pattern.lastIndex
    return match
  }
  for (;;) {
    const start = position
    const column = unquote(take(quoted)?.[1]) ?? take(bareName)?.[0].trim() ?? ''
    if (column === '' || text[position] !== '=') throw malformed(start)
    position += 1
    const name = take(operator)?.[1] ?? ''
    if (!isOperator(name)) {
      throw realtimeErrors.invalidStreamFilter(
        `expected one of ${filterOperators.join(', ')} and a dot after "${column}="`,
      )
    }
    const read = (inQuotes: RegExp, bare: RegExp): Value => ({
      kind: 'string',
      text: unquote(take(inQuotes)?.[1]) ?? take(bare)?.[0] ?? '',
    })
    const subject = { column, path: undefined, isPath: false, json: undefined, position: start }
    if (name === 'in') {
      const values: Value[] = []
      do values.push(read(quotedElement, bareElement))
      while (take(separator) !== null)
      conditions.push({ ...subject, kind: 'in', isNegated: false, values })
    } else {
      const value = read(quotedValue, bareValue)
      conditions.push({ ...subject, kind: 'compare', operator: comparisons[name], value })
    }
    requireFewConditions(conditions)
    if (position === text.length) return conditions
    position += 1
  }
}

/** Rejects conditions beyond the limits of a filter. @throws AppError invalid_stream_filter */
export function requireConditionLimits(conditions: readonly StreamCondition[]): void {
  requireFewConditions(conditions)
  const texts = conditions.flatMap((condition) => [condition.column, ...textsOf(condition)])
  const length = texts.reduce((sum, text) => sum + text.length, 0)
  if (length > lengthLimit) throw realtimeErrors.invalidStreamFilter(`at most ${lengthLimit} characters`)
}

function requireFewConditions({ length }: readonly StreamCondition[]): void {
  if (length > conditionLimit) {
    throw realtimeErrors.invalidStreamFilter(`at most ${conditionLimit} conditions`)
  }
}

function unquote(value: string | undefined): string | undefined {
  return value?.replaceAll('""', '"')
}

function isOperator(name: string): name is Comparison | 'in' {
  return (filterOperators as readonly string[]).includes(name)
}

function malformed(position: number): Error {
  return realtimeErrors.invalidStreamFilter(`expected column=operator.value at position ${position}`)
}
