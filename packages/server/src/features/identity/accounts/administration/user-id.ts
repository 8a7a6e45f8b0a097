import type { preHandlerHookHandler } from 'fastify'
import type { Feature } from '../../../../feature.ts'
import { refusedWith, uuid } from '../../../../http/schemas.ts'
import { Type } from '../../../../lib/type.ts'
import { isUuid } from '../../../../lib/uuid.ts'
import { accountErrors } from '../errors.ts'

/** Part of the description of every operation on users. */
export const administration = { guard: 'admin', permission: 'owner', tag: 'admin' } as const

/** Parameter of the paths below `/api/admin/users/:id`. */
export const userParams = Type.Object({ id: refusedWith({ invalid: accountErrors.invalidUserId }, uuid) })

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
