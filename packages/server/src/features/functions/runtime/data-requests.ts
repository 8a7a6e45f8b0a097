import {
  type Caller,
  type Collections,
  createRecord,
  deleteRecord,
  getRecord,
  listRecords,
  parseListBody,
  parsePrecondition,
  tagOf,
  updateRecord,
} from '../../data/collections/index.ts'
import { runtimeErrors } from './errors.ts'
import type { DataRequest } from './messages.ts'

/** Response of the data API to a function. */
export interface DataResponse {
  readonly status: number
  readonly body: string
  readonly etag?: string | undefined
}

/**
 * Serves a request of `ctx.db` by the code of the data API.
 *
 * @throws AppError, StatementFailed
 */
export async function serveData(
  collections: Collections,
  caller: Caller,
  { method, path, query, body, ifMatch }: DataRequest,
): Promise<DataResponse> {
  const [area, name = '', id, ...rest] = path.split('/')
  if (area !== 'collections' || rest.length > 0) throw runtimeErrors.noSuchFunction(method, path)
  const request = { caller, table: decodeURIComponent(name), query, body: body ?? '' }
  const precondition = ifMatch === undefined ? undefined : parsePrecondition(ifMatch, 'If-Match')
  const conditions = { precondition, isTagged: true }
  switch (
    `${method} ${id === undefined ? 'table' : id === 'query' && method === 'POST' ? 'query' : 'record'}`
  ) {
    case 'GET table':
      return { status: 200, body: (await listRecords(collections, request)).body }
    case 'POST query': {
      const list = await listRecords(collections, { ...request, query: parseListBody(request.body) })
      return { status: 200, body: list.body }
    }
    case 'GET record': {
      const found = await getRecord(collections, { ...request, id: id ?? '' })
      return { status: 200, body: found.record, etag: tagOf(found) }
    }
    case 'POST table': {
      const written = await createRecord(collections, request, conditions)
      return { status: written.isCreated ? 201 : 200, body: written.record, etag: tagOf(written) }
    }
    case 'PATCH record': {
      const written = await updateRecord(collections, { ...request, id: id ?? '' }, conditions)
      return { status: 200, body: written.record, etag: tagOf(written) }
    }
    case 'DELETE record':
      await deleteRecord(collections, { ...request, id: id ?? '' }, precondition)
      return { status: 204, body: '' }
    default:
      throw runtimeErrors.noSuchFunction(method, path)
  }
}
