import { originOf } from '../../../http/requests/request-origin.ts'
import type { HttpServer } from '../../../http/server.ts'
import { purgeSchema } from './schemas.ts'
import type { CdnService } from './service.ts'

/** Purging by hand. */
export function cdnRoutes(app: HttpServer, cdn: CdnService): void {
  app.post(
    '/api/admin/storage/cdn/purge',
    { config: { guard: 'admin', operation: 'cdn.purge' }, schema: purgeSchema },
    async (request, reply) => reply.code(202).send(await cdn.purge(request.body, originOf(request))),
  )
}
