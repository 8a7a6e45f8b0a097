import { collectionErrors } from '../errors.ts'
import { parseNames, parsePrefixedNames } from './names.ts'
import type { Parameters } from './parameters.ts'

/** Aggregate over the rows of a list, as written. Columns are not resolved yet. */
export interface AggregateQuery {
  readonly terms: readonly AggregateTerm[]
  /** Columns to group by; empty for one result over all rows. */
  readonly group: readonly string[]
  /** Keys of the results to sort by. */
  readonly sort: readonly { readonly key: string; readonly descending: boolean }[]
  /** Maximum number of groups; undefined for the configured limit. */
  readonly limit: number | undefined
}

export interface AggregateTerm {
  readonly function: AggregateFunction
  /** Column of the function. Undefined for `count` alone, which counts rows. */
  readonly column: string | undefined
}

export type AggregateFunction = (typeof aggregateFunctions)[number]

const aggregateFunctions = [
  ...(['count', 'count_distinct', 'sum', 'avg', 'min', 'max'] as const),
  ...(['bbox', 'centroid'] as const),
] as const

export const aggregateParameters = ['aggregate', 'group', 'groupSort', 'groupLimit']

const lengthLimit = 1000
const maxGroupColumns = 10

/** Pattern of `name` or `name(column)`. A column in double quotes may hold any character. */
const term = /\s*([^\s(),"]+)\s*(?:\((?:\s*"((?:[^"]|"")+)"\s*|([^"()]*))\)\s*)?/y

/**
 * Parses the parameters of an aggregate. Returns undefined when there are none.
 *
 * @throws AppError invalid_aggregate, invalid_group, invalid_parameter
 */
export function parseAggregate(parameters: Parameters): AggregateQuery | undefined {
  const { aggregate, group, groupSort, groupLimit } = parameters
  if (aggregate === undefined) return undefined
  const columns = parseNames(group ?? '', 'group')
  if (columns.length === 0) {
    requireWith('groupSort', groupSort, 'group')
    requireWith('groupLimit', groupLimit, 'group')
  }
  if (columns.length > maxGroupColumns) {
    throw collectionErrors.invalidGroup(`expected at most ${maxGroupColumns} columns`)
  }
  return {
    terms: parseTerms(aggregate),
    group: [...new Set(columns)],
    sort: parsePrefixedNames(groupSort ?? '', 'groupSort').map(({ prefix, name }) => ({
      key: name,
      descending: prefix === '-',
    })),
    limit: groupLimit === undefined ? undefined : parseLimit(groupLimit),
  }
}

/** Rejects parameters of an aggregate without `aggregate`. @throws AppError invalid_parameter */
export function requireAggregate({ aggregate, group, groupSort, groupLimit }: Parameters): void {
  if (aggregate !== undefined) return
  requireWith('group', group, 'aggregate')
  requireWith('groupSort', groupSort, 'aggregate')
  requireWith('groupLimit', groupLimit, 'aggregate')
}

function requireWith(name: string, value: string | undefined, other: string): void {
  if (value === undefined) return
  throw collectionErrors.invalidParameter(`${name} parameter requires ${other} parameter`)
}

function parseTerms(text: string): AggregateTerm[] {
  if (text.length > lengthLimit) {
    throw collectionErrors.invalidAggregate(`expected at most ${lengthLimit} characters`)
  }
  const terms: AggregateTerm[] = []
  let position = 0
  for (;;) {
    term.lastIndex = position
    const match = term.exec(text)
    const end = match === null ? position : term.lastIndex
    if (match === null || (end < text.length && text[end] !== ',')) {
      throw collectionErrors.invalidAggregate(
        `expected functions such as count or sum(column), separated by commas, at position ${position}`,
      )
    }
    const [, name = '', quoted, bare] = match
    terms.push(createTerm(name, quoted?.replaceAll('""', '"') ?? bare?.trim()))
    if (end === text.length) return terms
    position = end + 1
  }
}

/** @param column undefined without parentheses */
function createTerm(name: string, column: string | undefined): AggregateTerm {
  const found = aggregateFunctions.find((each) => each === name)
  if (found === undefined) throw collectionErrors.invalidAggregate(`unknown aggregate function: "${name}"`)
  if (found === 'count' && (column === undefined || column === '' || column === '*')) {
    return { function: found, column: undefined }
  }
  if (column === undefined || column === '') {
    throw collectionErrors.invalidAggregate(`${name} requires a column: ${name}(column)`)
  }
  return { function: found, column }
}

function parseLimit(text: string): number {
  const limit = /^\d{1,15}$/.test(text.trim()) ? Number(text) : 0
  if (limit === 0) throw collectionErrors.invalidParameter('groupLimit: expected an integer from 1')
  return limit
}
