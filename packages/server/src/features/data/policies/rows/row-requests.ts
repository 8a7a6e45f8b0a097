import type { Relation } from '../../../../database/catalog/model.ts'
import { createRecord, deleteRecord, getRecord, listRecords, updateRecord } from '../../collections/index.ts'
import { accessErrors } from '../errors.ts'
import type { SendRequest } from '../rehearsal/run-request.ts'
import { defaultRows, type ExplainRequest } from '../schemas.ts'
import type { Candidate } from './candidates.ts'

/** Request to the data API for one row; a read is one request for all rows. */
export interface RowRequest {
  readonly send: SendRequest
  /** True if the response has a row that the request would make. */
  readonly makesRow: boolean
}

/**
 * Returns the requests that a client would send. @param query the filter as a query string @throws AppError
 * invalid_explanation
 */
export function makeRequests(
  { collection: table, primaryKey }: Relation,
  { action = 'select', ids, values, limit = defaultRows.explain }: ExplainRequest,
  query: string,
  candidates: readonly Candidate[],
): RowRequest[] {
  if (action === 'select') {
    const [only] = ids ?? []
    const page = `${query === '' ? '' : `${query}&`}perPage=${limit}&skipTotal=true`
    return [
      {
        makesRow: false,
        send: async (collections, caller) =>
          ids?.length === 1 && only !== undefined
            ? (await getRecord(collections, { caller, table, id: pathOf(only, primaryKey.length) })).record
            : (await listRecords(collections, { caller, table, query: page })).body,
      },
    ]
  }
  if (action === 'insert') {
    if (values === undefined) throw accessErrors.invalidExplanation('values: expected the record to add')
    return [values].flat().map((record) => ({
      makesRow: true,
      send: async (collections, caller) =>
        (await createRecord(collections, { caller, table, body: JSON.stringify(record) })).record,
    }))
  }
  if (action === 'update' && (values === undefined || Array.isArray(values))) {
    throw accessErrors.invalidExplanation('values: expected an object with what changes')
  }
  return candidates.map(({ id }) => {
    if (id === undefined) throw accessErrors.invalidExplanation('table: expected one with a primary key')
    const path = pathOf(id, primaryKey.length)
    return action === 'update'
      ? {
          makesRow: true,
          send: async (collections, caller) =>
            (await updateRecord(collections, { caller, table, id: path, body: JSON.stringify(values) }))
              .record,
        }
      : {
          makesRow: false,
          send: async (collections, caller) => {
            await deleteRecord(collections, { caller, table, id: path })
            return undefined
          },
        }
  })
}

/** Returns the path of a record. The values of a composite key are already encoded. */
function pathOf(id: string, columns: number): string {
  return columns === 1 ? encodeURIComponent(id) : id
}
