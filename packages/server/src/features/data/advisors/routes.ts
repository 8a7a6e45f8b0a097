import { originOf } from '../../../http/requests/request-origin.ts'
import type { HttpServer } from '../../../http/server.ts'
import * as schemas from './schemas.ts'
import type { AdvisorService } from './service.ts'

const path = '/api/admin/advisors'

/** What there is to mend in the database. */
export function advisorRoutes(app: HttpServer, advisors: AdvisorService): void {
  app.get(
    path,
    { config: { guard: 'admin', operation: 'advisors.list' }, schema: schemas.listAdviceSchema },
    async (_request, reply) => reply.send(await advisors.list()),
  )

  app.put(
    `${path}/:id/dismissal`,
    { config: { guard: 'admin', operation: 'advisors.dismiss' }, schema: schemas.dismissAdviceSchema },
    async (request, reply) =>
      reply.send(await advisors.dismiss(request.params.id, request.body, originOf(request))),
  )

  app.delete(
    `${path}/:id/dismissal`,
    { config: { guard: 'admin', operation: 'advisors.restore' }, schema: schemas.restoreAdviceSchema },
    async (request, reply) => {
      await advisors.restore(request.params.id, originOf(request))
      return reply.code(204).send()
    },
  )
}
