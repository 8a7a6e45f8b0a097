import type { FastifyReply, FastifyRequest } from 'fastify'
import type { AdmitsAnonymous } from '../../../../http/route-config.ts'
import type { HttpServer } from '../../../../http/server.ts'
import type { ExportFormat } from '../parse/export.ts'
import { callerOf, queryOf } from '../request.ts'
import type { CollectionService } from '../service.ts'
import { exportSchemas as schemas } from './schemas.ts'

/** Files of a collection. Their names are those of records that cannot be read by a key that equals them. */
export function addExportRoutes(
  app: HttpServer,
  service: Pick<CollectionService, 'openExport'>,
  admitsAnonymous: AdmitsAnonymous,
): void {
  const configOf = (operation: string) =>
    ({ guard: 'data', programs: 'read', operation, admitsAnonymous }) as const
  app.get<ExportRoute>(
    '/api/collections/:table/export.csv',
    { config: configOf('collections.exportCsv'), schema: schemas.csv },
    (...request) => answer('csv', ...request),
  )
  app.get<ExportRoute>(
    '/api/collections/:table/export.json',
    { config: configOf('collections.exportJson'), schema: schemas.json },
    (...request) => answer('json', ...request),
  )
  app.get<ExportRoute>(
    '/api/collections/:table/export.ndjson',
    { config: configOf('collections.exportNdjson'), schema: schemas.ndjson },
    (...request) => answer('ndjson', ...request),
  )

  async function answer(
    format: ExportFormat,
    request: FastifyRequest<ExportRoute>,
    reply: FastifyReply,
  ): Promise<FastifyReply> {
    const { table } = request.params
    const rows = await service.openExport(callerOf(request, reply), table, format, queryOf(request))
    void reply.type(contentTypes[format]).header('content-disposition', attachment(`${table}.${format}`))
    if (request.method === 'HEAD') return reply.send(rows.destroy())
    // Known only at the end, when the head has been sent (RFC 9110 §6.5).
    reply.trailer(truncatedTrailer, async () => String(rows.isCut))
    return reply.send(rows)
  }
}

interface ExportRoute {
  Params: { table: string }
}

const truncatedTrailer = 'x-export-truncated'

const contentTypes: Readonly<Record<ExportFormat, string>> = {
  csv: 'text/csv; charset=utf-8',
  json: 'application/json; charset=utf-8',
  ndjson: 'application/x-ndjson; charset=utf-8',
}

/** RFC 6266 §4: the name for those that know no other encoding, and as it is. */
function attachment(name: string): string {
  const plain = name.replace(/[^\x20-\x7e]|["\\%]/g, '_')
  const encoded = encodeURIComponent(name).replace(
    /['()*!]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
  return plain === name
    ? `attachment; filename="${name}"`
    : `attachment; filename="${plain}"; filename*=UTF-8''${encoded}`
}
