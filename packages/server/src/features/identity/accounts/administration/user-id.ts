import type { preHandlerHookHandler } from 'fastify'
import type { Feature } from '../../../../feature.ts'
import { isUuid } from '../../../../lib/uuid.ts'
import { accountErrors } from '../errors.ts'

/**
 * Answers a malformed id of a user alike, whichever feature a route below `/api/admin/users/` is of. Stands before all of
 * them, with accounts switched off, too.
 */
export const userIds: Feature = {
  name: 'user-ids',
  routes(app) {
    app.addHook('onRoute', (route) => {
      if (!route.url.startsWith('/api/admin/users/:id')) return
      route.preHandler = [refuseMalformedId, ...[route.preHandler ?? []].flat()]
    })
  },
}

const refuseMalformedId: preHandlerHookHandler = ({ params }, _reply, done) => {
  const { id } = params as { readonly id: string }
  done(isUuid(id) ? undefined : accountErrors.invalidUserId())
}
