import { collectionErrors } from '../errors.ts'
import { type Filter, parseFilter } from './filter.ts'
import { type RecordQuery, readRecordQuery, recordParameters } from './list-query.ts'
import { parseNames } from './names.ts'
import { readParameters } from './parameters.ts'

/** Parameters of a create beside its body. */
export interface CreateQuery extends RecordQuery {
  /** Conflict handling. Undefined: a record with the same key is an error. */
  readonly conflict: ConflictQuery | undefined
}

export interface ConflictQuery {
  readonly columns: readonly string[]
  readonly action: 'update' | 'ignore'
}

/** Records that a bulk write is for, and the form of its response. */
export interface BulkQuery {
  readonly filter: Filter
  /** Number of records that the filter must match. */
  readonly expect: number
  /** Form of the returned records. Undefined: only their number is returned. */
  readonly records: RecordQuery | undefined
}

/** @throws AppError naming the parameter and what was expected */
export function parseCreateQuery(queryString: string): CreateQuery {
  const parameters = readParameters(queryString, [...recordParameters, ...conflictParameters])
  return { ...readRecordQuery(parameters), conflict: parseConflict(parameters) }
}

/** Names of the conflict parameters. `on_conflict` is PostgREST's name of `onConflict`. */
const conflictParameters = ['onConflict', 'on_conflict', 'onConflictAction'] as const

type ConflictParameters = Readonly<Partial<Record<(typeof conflictParameters)[number], string | undefined>>>

/** @throws AppError invalid_parameter */
export function parseConflict(parameters: ConflictParameters): ConflictQuery | undefined {
  const { onConflict, on_conflict: alias, onConflictAction: action } = parameters
  if (onConflict !== undefined && alias !== undefined) {
    throw collectionErrors.invalidParameter('cannot use both onConflict and on_conflict')
  }
  if (action !== undefined && action !== 'update' && action !== 'ignore') {
    throw collectionErrors.invalidParameter('onConflictAction: expected update or ignore')
  }
  const columns = onConflict ?? alias
  if (columns !== undefined) {
    return { columns: parseNames(columns, 'onConflict'), action: action ?? 'update' }
  }
  if (action === undefined) return undefined
  throw collectionErrors.invalidParameter('onConflictAction: expected onConflict beside it')
}

/**
 * @param limit maximum number of records that a request may change
 * @throws AppError naming the parameter and what was expected
 */
export function parseBulkQuery(queryString: string, limit: number): BulkQuery {
  const parameters = readParameters(queryString, [...recordParameters, 'filter', 'expect', 'return'])
  const { filter = '', expect = '', return: returned = 'count' } = parameters
  if (filter.trim() === '') {
    throw collectionErrors.invalidParameter('filter: expected a filter that finds the records to write')
  }
  if (!/^\d{1,9}$/.test(expect) || Number(expect) > limit) {
    throw collectionErrors.invalidParameter(
      `expect: expected the number of records that the filter finds, at most ${limit}`,
    )
  }
  if (returned !== 'count' && returned !== 'records') {
    throw collectionErrors.invalidParameter('return: expected count or records')
  }
  const recordParameter = recordParameters.find((name) => parameters[name] !== undefined)
  if (returned === 'count' && recordParameter !== undefined) {
    throw collectionErrors.invalidParameter(`${recordParameter}: expected return=records beside it`)
  }
  return {
    filter: parseFilter(filter),
    expect: Number(expect),
    records: returned === 'records' ? readRecordQuery(parameters) : undefined,
  }
}
