import type { FastifyRequest } from 'fastify'
import { requireTable } from '../../../../http/access/grants.ts'
import { ok, operation } from '../../../../http/operation.ts'
import { isBodyAwaited } from '../../../../http/requests/expectation.ts'
import { untilDisconnected } from '../../../../http/responses/disconnection.ts'
import { choice } from '../../../../http/schemas.ts'
import { Type } from '../../../../lib/type.ts'
import type { Caller } from '../access/caller.ts'
import { collectionPath, writing } from '../operation.ts'
import { readParameters } from '../parse/parameters.ts'
import { requestOf } from '../request.ts'
import { TableRecord } from '../schemas.ts'
import { importErrors } from './errors.ts'
import type { Imports } from './imports.ts'
import { parseImportOptions } from './parameters.ts'
import { type ImportRequest, receiveImport } from './receive.ts'
import type { ImportFormat } from './records.ts'
import { ImportResult, ImportRun } from './result.ts'

const rows = (description: string) => ({ schema: Type.String({ description }) })

const { headers, ...writingRows } = writing('insert')

/** Operation that imports rows. Its handler reads the body as a stream. */
const importRows = operation({
  ...writingRows,
  id: 'collections.import',
  method: 'POST',
  path: `${collectionPath}/import`,
  summary: 'Import rows from CSV, a JSON array or NDJSON',
  params: Type.Object({
    table: Type.String({ description: 'A table. Outside `public` it is written `schema.table`.' }),
  }),
  query: Type.Object({
    mode: Type.Optional(
      choice(['full', 'partial'], {
        description:
          '`full`, the default: every row or none. Counting ends with the 1,000th row that the database rejects. `partial`: the accepted rows.',
      }),
    ),
    on_conflict: Type.Optional(
      choice(['skip', 'update'], {
        description: 'Treatment of a row whose primary key exists. Without it, the row is rejected.',
      }),
    ),
    dryRun: Type.Optional(
      choice(['true', 'false'], { description: '`true` returns what would happen, and changes nothing.' }),
    ),
  }),
  headers: Type.Object({
    ...headers.properties,
    prefer: Type.Optional(
      Type.String({
        description:
          '`respond-async`: responds with 202 once the file is received. `Location` has its status.',
      }),
    ),
  }),
  body: Type.Unsafe<unknown>({
    content: {
      'text/csv': rows('A header with the names of columns, then a line for each row.'),
      'application/json': { schema: Type.Array(TableRecord) },
      'application/x-ndjson': rows('An object on each line.'),
    },
  }),
  success: ok(ImportResult),
  otherResponses: { 202: ImportRun },
  async handle(imports: Imports, { http }, reply) {
    const { caller, table: collection, query } = requestOf(http, reply)
    try {
      const request: ImportRequest = {
        collection,
        options: parseImportOptions(query),
        format: formatOf(http),
        // The response is still to be sent when reading ends early.
        body: http.raw.iterator({ destroyOnReturn: false }),
        signal: untilDisconnected(reply),
      }
      // An idempotency key stands for the final response, which does not exist before the import ends.
      if (caller.key !== undefined || !mayAnswerBefore(http, caller)) {
        await using received = await receiveImport(imports, caller, request)
        return await received.write(request)
      }
      const run = await startImport(imports, caller, request)
      const location = `/api/collections/${encodeURIComponent(collection)}/imports/${run.id}`
      reply.code(202).headers({ location, 'preference-applied': 'respond-async' })
      return run
    } catch (error) {
      // A body that the client holds back until it is awaited is not read just to be discarded.
      if (!isBodyAwaited(http.raw)) http.raw.resume()
      throw error
    }
  },
})

/**
 * Responds once the file is received. The rows are written afterwards, unless the client disconnects before it has
 * the response.
 *
 * @throws AppError too_many_imports
 */
async function startImport(imports: Imports, caller: Caller, request: ImportRequest): Promise<ImportRun> {
  const { background } = imports
  const { collection, options, signal } = request
  const owner = ownerOf(caller)
  const run = await background.start({ collection, owner }, async () => {
    const received = await receiveImport(imports, caller, request)
    return {
      ...received,
      write: (progress) => received.write({ options, signal: progress.signal, progress }),
    }
  })
  // A client that disconnects before it has the id can neither follow nor cancel the import. An import that has ended
  // is unaffected.
  const cancel = () => void background.cancel(collection, run.id, owner).catch(() => undefined)
  if (signal.aborted) cancel()
  else signal.addEventListener('abort', cancel)
  return run
}

/** Shared options of the operations on an import that runs in the background. */
const ofRun = {
  guard: 'data',
  tag: 'collections',
  path: `${collectionPath}/imports/:id`,
  params: Type.Object({ table: Type.String(), id: Type.String({ format: 'uuid' }) }),
  success: ok(ImportRun),
} as const

const getImport = operation({
  ...ofRun,
  programs: 'read',
  id: 'collections.getImport',
  method: 'GET',
  summary: 'Get the status of an import that responded with 202',
  async handle({ background }: Imports, { http, params: { table, id } }, reply) {
    const { caller, query } = requestOf(http, reply)
    readParameters(query, [])
    requireTable(caller.scope, table)
    return await background.find(table, id, ownerOf(caller))
  },
})

const cancelImport = operation({
  ...ofRun,
  programs: 'write',
  id: 'collections.cancelImport',
  method: 'DELETE',
  summary: 'Cancel an import that responded with 202 and has not ended: nothing of it is imported',
  async handle({ background }: Imports, { http, params: { table, id } }, reply) {
    const request = requestOf(http, reply)
    readParameters(request.query, [])
    const { caller } = request
    requireTable(caller.scope, table)
    return await background.cancel(table, id, ownerOf(caller))
  },
})

export const importOperations = [importRows, getImport, cancelImport]

/** Returns the owner of an import; null for an administrator, and while auth is off. */
function ownerOf({ scope }: Caller): string | null {
  return scope.kind === 'caller' ? scope.userId : null
}

/**
 * Returns whether the client prefers not to wait (RFC 7240 §4.1). A caller without an identity could not read the
 * status, so the preference is ignored.
 */
function mayAnswerBefore({ headers }: FastifyRequest, { scope }: Caller): boolean {
  if (scope.kind === 'anonymous' || (scope.kind === 'caller' && scope.userId === '')) return false
  return /(?:^|,)\s*respond-async\s*(?:[;,]|$)/i.test([headers.prefer ?? ''].flat().join())
}

const formats: Readonly<Record<string, ImportFormat>> = {
  'text/csv': 'csv',
  'application/json': 'json',
  'application/x-ndjson': 'ndjson',
}

function formatOf({ headers }: FastifyRequest): ImportFormat {
  const [type = ''] = (headers['content-type'] ?? '').split(';', 1)
  const format = formats[type.trim().toLowerCase()]
  if (format === undefined) throw importErrors.importMediaType()
  return format
}
