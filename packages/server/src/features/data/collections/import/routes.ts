import type { FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { LiveCatalog } from '../../../../database/catalog/live-catalog.ts'
import { httpErrors } from '../../../../http/errors.ts'
import { bearerSecurity, responses } from '../../../../http/schemas.ts'
import type { HttpServer } from '../../../../http/server.ts'
import { idempotencyHeaders } from '../../idempotency/index.ts'
import { createAdmission, isOpenFor } from '../public-access.ts'
import { type CollectionRoute, callerOf, queryOf, untilDisconnected } from '../request.ts'
import { importErrors } from './errors.ts'
import { parseImportOptions } from './parameters.ts'
import type { ImportFormat } from './records.ts'
import type { Importer } from './service.ts'

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
        try {
          return await importer.run(callerOf(request, reply), {
            collection: request.params.table,
            options: parseImportOptions(queryOf(request)),
            format: formatOf(request),
            // The response is still to be sent when reading ends early.
            body: request.raw.iterator({ destroyOnReturn: false }),
            signal: untilDisconnected(reply),
          })
        } catch (error) {
          request.raw.resume()
          throw error
        }
      },
    )
  })
}

const formats: Readonly<Record<string, ImportFormat>> = {
  'text/csv': 'csv',
  'application/json': 'json',
  'application/x-ndjson': 'ndjson',
}

function formatOf({ headers }: FastifyRequest): ImportFormat {
  const coding = headers['content-encoding']?.trim().toLowerCase() ?? 'identity'
  if (coding !== 'identity') {
    // RFC 9110 §15.5.16: the answer names what would have been accepted.
    throw httpErrors.unsupportedContentEncoding().with({ headers: { 'accept-encoding': 'identity' } })
  }
  const [type = ''] = (headers['content-type'] ?? '').split(';', 1)
  const format = formats[type.trim().toLowerCase()]
  if (format === undefined) throw importErrors.importMediaType()
  return format
}

const choice = (values: readonly string[], description: string) =>
  Type.Optional(Type.String({ enum: [...values], description }))

const rows = (description: string) => ({ schema: Type.String({ description }) })

const importSchema = {
  headers: Type.Object(idempotencyHeaders),
  tags: ['collections'],
  security: bearerSecurity,
  summary: 'Import rows from CSV, a JSON array or NDJSON',
  params: Type.Object({
    table: Type.String({ description: 'A table; outside `public` as `schema.table`.' }),
  }),
  querystring: Type.Object({
    mode: choice(
      ['full', 'partial'],
      '`full`, the default: every row or none. `partial`: the rows that are accepted.',
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
  response: responses({
    200: Type.Object({
      processed: Type.Integer(),
      inserted: Type.Integer(),
      updated: Type.Integer(),
      skipped: Type.Integer(),
      failed: Type.Integer(),
      errors: Type.Optional(
        Type.Array(
          Type.Object({ row: Type.Integer({ description: 'Counted from 1.' }), message: Type.String() }),
          { description: 'The first 100 rows that were refused.' },
        ),
      ),
      dryRun: Type.Optional(Type.Boolean()),
    }),
  }),
}
