import type { SystemDatabase } from '../../../database/system-database.ts'
import { adminOf } from '../../../http/access/authentication.ts'
import { bearerSecurity, responses } from '../../../http/schemas.ts'
import type { HttpServer } from '../../../http/server.ts'
import { Type } from '../../../lib/type.ts'
import { takeSnapshot } from './log.ts'
import { logFilter, readableBy } from './operations.ts'
import type { LogTails } from './tail.ts'

/** Adds the route that follows the log, a stream. */
export function tailRoute(app: HttpServer, database: SystemDatabase, tails: LogTails): void {
  app.get(
    '/api/admin/logs/tail',
    {
      config: { guard: 'admin', permission: 'operations.read', operation: 'logs.tail', eventStream: true },
      schema: {
        tags: ['operations'],
        security: bearerSecurity,
        summary: 'Follow the log of all nodes',
        description: 'Server-sent events named `log`, from now on, or from the position in `Last-Event-ID`.',
        querystring: Type.Object(logFilter),
        response: responses({
          200: {
            description: 'Stream of entries.',
            content: { 'text/event-stream': { schema: Type.String() } },
          },
        }),
      },
      // A HEAD request would open a stream without a reader.
      exposeHeadRoute: false,
    },
    async (request, reply) => {
      tails.requireOpen()
      const last = request.headers['last-event-id']
      const isSnapshot = typeof last === 'string' && /^\d{1,20}:\d{1,20}:(\d{1,20}(,\d{1,20})*)?$/.test(last)
      const position = isSnapshot ? last : await takeSnapshot(database)
      const filter = readableBy(adminOf(request), request.query)
      tails.open(reply, filter, position, request.isStillAdmitted ?? (async () => false))
      return reply
    },
  )
}
