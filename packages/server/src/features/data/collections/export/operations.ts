import type { FastifyRequest } from 'fastify'
import { requireTable } from '../../../../http/access/grants.ts'
import { mostExportedRows } from '../../../../http/access/permissions.ts'
import { untilRefused } from '../../../../http/access/until-refused.ts'
import { content, operation } from '../../../../http/operation.ts'
import { contentDisposition } from '../../../../http/responses/disposition.ts'
import { Type } from '../../../../lib/type.ts'
import { requireRelation, withCatalog } from '../access/catalog-access.ts'
import type { Collections } from '../collections.ts'
import { explainFailure } from '../faults/explain.ts'
import { collectionPath, reading, tableParams } from '../operation.ts'
import { type ExportFormat, parseExportQuery } from '../parse/export.ts'
import { planExport, relationsOfExport } from '../plan/export.ts'
import { recordQuery, rowsQuery, sort } from '../query-schemas.ts'
import { noteSearch, readerOf, requireTables } from '../read/reading.ts'
import { requestOf } from '../request.ts'
import { TableRecord } from '../schemas.ts'

/** Export files of a collection. A record whose key equals such a file name cannot be read by its key. */

const exportQuery = { ...rowsQuery, sort, fields: recordQuery.fields }

export const exportCsv = exportOperation({
  format: 'csv',
  id: 'collections.exportCsv',
  summary: 'Export records as CSV',
  query: Type.Object({
    ...exportQuery,
    spreadsheet: Type.Optional(
      Type.Boolean({ description: '`true` keeps spreadsheets from interpreting texts as formulas.' }),
    ),
  }),
  success: content('text/csv', 'RFC 4180, with a header.', Type.String()),
})

export const exportJson = exportOperation({
  format: 'json',
  id: 'collections.exportJson',
  summary: 'Export records as a JSON array',
  query: Type.Object(exportQuery),
  success: content('application/json', 'The records.', Type.Array(TableRecord)),
})

export const exportNdjson = exportOperation({
  format: 'ndjson',
  id: 'collections.exportNdjson',
  summary: 'Export records as lines of JSON',
  query: Type.Object(exportQuery),
  success: content('application/x-ndjson', 'One JSON object per line.', Type.String()),
})

interface ExportDescription {
  readonly format: ExportFormat
  readonly id: string
  readonly summary: string
  readonly query: ReturnType<typeof Type.Object>
  readonly success: ReturnType<typeof content>
}

function exportOperation({ format, ...description }: ExportDescription) {
  return operation({
    ...reading,
    ...description,
    method: 'GET',
    path: `${collectionPath}/export.${format}`,
    params: tableParams,
    async handle(collections: Collections, { http }, reply) {
      const { caller, table, query } = requestOf(http, reply)
      const rows = await withCatalog(collections.catalog, async (catalog) => {
        requireTable(caller.scope, table)
        const reader = readerOf(caller)
        const relation = requireRelation(catalog, table, reader)
        const { searches, exportLimits } = collections
        const request = parseExportQuery(query, format)
        const maxRows = Math.min(exportLimits.maxRows, mostRowsOf(http) ?? exportLimits.maxRows)
        const plan = planExport({ catalog, reader, searches }, relation, request, maxRows)
        const work = { action: 'read', relations: relationsOfExport(plan), rows: plan.rows } as const
        requireTables(caller, work.relations)
        noteSearch(collections, plan.rows)
        return await collections.exports.begin(
          caller,
          plan,
          async (failure) => (await explainFailure(collections, caller, failure, work)) ?? failure,
        )
      })
      void reply
        .type(`${description.success.type}; charset=utf-8`)
        .header('content-disposition', contentDisposition('attachment', `${table}.${format}`))
      if (http.method === 'HEAD') return rows.destroy()
      untilRefused(http, reply).addEventListener('abort', () =>
        rows.destroy(new Error('the session of the administrator has ended')),
      )
      // The value is known only at the end, after the head has been sent (RFC 9110 §6.5).
      reply.trailer('x-export-truncated', async () => String(rows.isCut))
      return rows
    },
  })
}

/** Returns the maximum number of rows for the role of the administrator; undefined without one. */
function mostRowsOf({ identity }: FastifyRequest): number | undefined {
  return identity?.kind === 'admin' ? mostExportedRows[identity.role] : undefined
}
