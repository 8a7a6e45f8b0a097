import { collectionErrors } from '../errors.ts'
import { type Filter, parseFilter } from './filter.ts'
import { type RecordQuery, readRecordQuery, recordParameters } from './list-query.ts'
import { parseNames } from './names.ts'
import { readParameters } from './parameters.ts'

/** What a create asks for beside its body. */
export interface CreateQuery extends RecordQuery {
  /** Undefined: a record with the same key is an error. */
  readonly conflict: ConflictQuery | undefined
}

export interface ConflictQuery {
  readonly columns: readonly string[]
  readonly action: 'update' | 'ignore'
}

/** Which records a bulk write is for, and what it answers. */
export interface BulkQuery {
  readonly filter: Filter
  /** How many records the filter must find. */
  readonly expect: number
  /** Undefined: their number alone. */
  readonly records: RecordQuery | undefined
}

/** @throws AppError naming the parameter and what was expected */
export function parseCreateQuery(queryString: string): CreateQuery {
  const parameters = readParameters(queryString, [...recordParameters, 'onConflict', 'onConflictAction'])
  const { onConflict, onConflictAction: action = 'update' } = parameters
  if (action !== 'update' && action !== 'ignore') {
    throw collectionErrors.invalidParameter('onConflictAction: expected update or ignore')
  }
  if (onConflict === undefined) {
    if (parameters.onConflictAction !== undefined) {
      throw collectionErrors.invalidParameter('onConflictAction: expected onConflict beside it')
    }
    return { ...readRecordQuery(parameters), conflict: undefined }
  }
  const columns = parseNames(onConflict, 'onConflict')
  return { ...readRecordQuery(parameters), conflict: { columns, action } }
}

/**
 * @param limit how many records a request may change
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
  const shown = recordParameters.find((name) => parameters[name] !== undefined)
  if (returned === 'count' && shown !== undefined) {
    throw collectionErrors.invalidParameter(`${shown}: expected return=records beside it`)
  }
  return {
    filter: parseFilter(filter),
    expect: Number(expect),
    records: returned === 'records' ? readRecordQuery(parameters) : undefined,
  }
}
