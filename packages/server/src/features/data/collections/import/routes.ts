import type { FastifyRequest } from 'fastify'
import type { LiveCatalog } from '../../../../database/catalog/live-catalog.ts'
import { isBodyAwaited } from '../../../../http/requests/expectation.ts'
import { untilDisconnected } from '../../../../http/responses/disconnection.ts'
import { bearerSecurity, component, responses } from '../../../../http/schemas.ts'
import type { HttpServer } from '../../../../http/server.ts'
import { Type } from '../../../../lib/type.ts'
import { idempotencyHeaders } from '../../idempotency/index.ts'
import type { Caller } from '../access/caller.ts'
import { createAdmission, isOpenFor } from '../access/public-access.ts'
import { readParameters } from '../parse/parameters.ts'
import { type CollectionRoute, callerOf, queryOf } from '../request.ts'
import { importErrors } from './errors.ts'
import { parseImportOptions } from './parameters.ts'
import type { ImportFormat } from './records.ts'
import type { Importer, ImportRequest } from './service.ts'

/** `POST /api/collections/{table}/import`. The body is not parsed before the handler, which reads it as it comes. */
export function importRoutes(app: HttpServer, importer: Importer, catalog: LiveCatalog): void {
  void app.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', (_request, _payload, done) => done(null))
    scope.setValidatorCompiler(() => (value) => ({ value }))

    scope.post<CollectionRoute>(
      '/api/collections/:table/import',
      {
        config: {
          guard: 'data',
          programs: 'write',
          operation: 'collections.import',
          admitsAnonymous: createAdmission(catalog)(isOpenFor('insert')),
        },
        schema: importSchema,
      },
      async (request, reply) => {
        const caller = callerOf(request, reply)
        const { table: collection } = request.params
        try {
          const sent: ImportRequest = {
            collection,
            options: parseImportOptions(queryOf(request)),
            format: formatOf(request),
            // The response is still to be sent when reading ends early.
            body: request.raw.iterator({ destroyOnReturn: false }),
            signal: untilDisconnected(reply),
          }
          // A key stands for the answer, which is not there before the end.
          if (caller.key !== undefined || !mayAnswerBefore(request, caller))
            return await importer.run(caller, sent)
          const status = await importer.start(caller, sent)
          const location = `/api/collections/${encodeURIComponent(collection)}/imports/${status.id}`
          return reply.code(202).headers({ location, 'preference-applied': 'respond-async' }).send(status)
        } catch (error) {
          // A body that is not asked for yet is not read to be thrown away.
          if (!isBodyAwaited(request.raw)) request.raw.resume()
          throw error
        }
      },
    )

    scope.get<{ Params: { table: string; id: string } }>(
      '/api/collections/:table/imports/:id',
      {
        config: { guard: 'data', programs: 'read', operation: 'collections.getImport' },
        schema: importStatusSchema,
      },
      async (request, reply) => {
        readParameters(queryOf(request), [])
        const { table, id } = request.params
        return await importer.find(callerOf(request, reply), table, id)
      },
    )

    scope.delete<{ Params: { table: string; id: string } }>(
      '/api/collections/:table/imports/:id',
      {
        config: { guard: 'data', programs: 'write', operation: 'collections.cancelImport' },
        schema: cancelImportSchema,
      },
      async (request, reply) => {
        readParameters(queryOf(request), [])
        const { table, id } = request.params
        return await importer.cancel(callerOf(request, reply), table, id)
      },
    )
  })
}

/**
 * Whether the client prefers not to wait (RFC 7240 §4.1). Without an identity no one could ask for the status: the
 * preference is passed over.
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

const choice = (values: readonly string[], description: string) =>
  Type.Optional(Type.String({ enum: [...values], description }))

const rows = (description: string) => ({ schema: Type.String({ description }) })

const refused = Type.Optional(
  Type.Array(Type.Object({ row: Type.Integer({ description: 'Counted from 1.' }), message: Type.String() }), {
    description: 'The rows that were refused, the first 10,000 of them.',
  }),
)

const result = component(
  'ImportResult',
  Type.Object({
    processed: Type.Integer(),
    inserted: Type.Integer(),
    updated: Type.Integer(),
    skipped: Type.Integer(),
    failed: Type.Integer(),
    errors: refused,
    dryRun: Type.Optional(Type.Boolean()),
  }),
)

const status = component(
  'ImportRun',
  Type.Object({
    id: Type.String({ format: 'uuid' }),
    collection: Type.String(),
    state: Type.Union([
      Type.Literal('running'),
      Type.Literal('succeeded'),
      Type.Literal('failed'),
      Type.Literal('canceled'),
    ]),
    rowsRead: Type.Integer({ description: 'Of the file.' }),
    rowsWritten: Type.Integer({ description: 'So far; they are there when the state is `succeeded`.' }),
    failed: Type.Integer({ description: 'Rows that were refused so far.' }),
    startedAt: Type.String({ format: 'date-time' }),
    finishedAt: Type.Union([Type.String({ format: 'date-time' }), Type.Null()]),
    result: Type.Union([result, Type.Null()], { description: 'As the answer without the preference.' }),
    error: Type.Union(
      [Type.Object({ message: Type.String(), errors: refused }, { additionalProperties: true }), Type.Null()],
      {
        description: 'As the answer without the preference.',
      },
    ),
  }),
)

const importSchema = {
  tags: ['collections'],
  security: bearerSecurity,
  summary: 'Import rows from CSV, a JSON array or NDJSON',
  params: Type.Object({
    table: Type.String({ description: 'A table; outside `public` as `schema.table`.' }),
  }),
  querystring: Type.Object({
    mode: choice(
      ['full', 'partial'],
      '`full`, the default: every row or none; counting ends with the 1,000th that the database refuses. `partial`: the rows that are accepted.',
    ),
    on_conflict: choice(
      ['skip', 'update'],
      'What happens to a row whose primary key exists; without it, the row is refused.',
    ),
    dryRun: choice(['true', 'false'], '`true` answers what would happen, and changes nothing.'),
  }),
  body: {
    content: {
      'text/csv': rows('A header with the names of columns, then a line for each row.'),
      'application/json': { schema: Type.Array(Type.Object({}, { additionalProperties: true })) },
      'application/x-ndjson': rows('An object on each line.'),
    },
  },
  headers: Type.Object({
    ...idempotencyHeaders,
    prefer: Type.Optional(
      Type.String({
        description:
          '`respond-async`: answered with 202 when the file is received; `Location` has its status.',
      }),
    ),
  }),
  response: responses({ 200: result, 202: status }),
}

const importStatusSchema = {
  tags: ['collections'],
  security: bearerSecurity,
  summary: 'Get the status of an import that was answered with 202',
  params: Type.Object({ table: Type.String(), id: Type.String({ format: 'uuid' }) }),
  response: responses({ 200: status }),
}

const cancelImportSchema = {
  ...importStatusSchema,
  summary: 'Cancel an import that was answered with 202 and has not ended: nothing of it is imported',
}
