import type { preHandlerHookHandler } from 'fastify'
import type { Feature } from '../../../../feature.ts'
import { refusedWith, uuid } from '../../../../http/schemas.ts'
import { Type } from '../../../../lib/type.ts'
import { isUuid } from '../../../../lib/uuid.ts'
import { accountErrors } from '../errors.ts'

/** Members that every description of an operation on users shares. */
export const administration = { guard: 'admin', permission: 'users.manage', tag: 'admin' } as const

/** Parameter of the paths below `/api/admin/users/:id`. */
export const userParams = Type.Object({ id: refusedWith({ invalid: accountErrors.invalidUserId }, uuid) })

/**
 * Rejects a malformed user id with the same error in every feature that has a route below
 * `/api/admin/users/`. It is registered before all of them, and also when accounts are disabled.
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
