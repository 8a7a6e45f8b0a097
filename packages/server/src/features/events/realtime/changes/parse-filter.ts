import { realtimeErrors } from '../errors.ts'

export const filterOperators = ['eq', 'neq', 'gt', 'gte', 'lt', 'lte', 'in'] as const
export type FilterOperator = (typeof filterOperators)[number]

/** One condition as written. */
export interface Condition {
  readonly column: string
  readonly operator: FilterOperator
  /** One value, or those of `in`. */
  readonly values: readonly string[]
}

const lengthLimit = 2000
const conditionLimit = 20

/** Each consumes what it can from one position. Quotes are doubled inside quotes. */
const quoted = /"((?:[^"]|"")*)"/y
const bareName = /[^"=,]+/y
const operator = /([a-z]+)\./y
const bareValue = /[^,]*/y
const quotedValue = /"((?:[^"]|"")*)"(?=,|$)/y
/** Of those of `in`. */
const separator = /\|/y
const bareElement = /[^,|]*/y
const quotedElement = /"((?:[^"]|"")*)"(?=[,|]|$)/y

/**
 * Reads `column=operator.value`, joined by commas. A name or value with a comma goes in double quotes; values of `in` are
 * separated by `|`, and each may be in quotes.
 *
 * @throws AppError invalid_stream_filter
 */
export function parseFilter(text: string): readonly Condition[] {
  if (text.length > lengthLimit) throw realtimeErrors.invalidStreamFilter(`at most ${lengthLimit} characters`)
  const conditions: Condition[] = []
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
    const read = (inQuotes: RegExp, bare: RegExp) => unquote(take(inQuotes)?.[1]) ?? take(bare)?.[0] ?? ''
    const values: string[] = []
    if (name === 'in') {
      do values.push(read(quotedElement, bareElement))
      while (take(separator) !== null)
    } else {
      values.push(read(quotedValue, bareValue))
    }
    conditions.push({ column, operator: name, values })
    if (conditions.length > conditionLimit) {
      throw realtimeErrors.invalidStreamFilter(`at most ${conditionLimit} conditions`)
    }
    if (position === text.length) return conditions
    position += 1
  }
}

function unquote(value: string | undefined): string | undefined {
  return value?.replaceAll('""', '"')
}

function isOperator(name: string): name is FilterOperator {
  return (filterOperators as readonly string[]).includes(name)
}

function malformed(position: number): Error {
  return realtimeErrors.invalidStreamFilter(`expected column=operator.value at position ${position}`)
}
