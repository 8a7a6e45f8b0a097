import { originOf } from '../../../http/requests/request-origin.ts'
import type { HttpServer } from '../../../http/server.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import { lockUser, requireUser, userNotFound } from '../accounts/index.ts'
import type { SocialLoginContext } from './context.ts'
import { socialLoginErrors } from './errors.ts'
import { forgetTokens, readTokens } from './provider-tokens.ts'
import { deleteIdentities, listIdentities } from './queries.ts'
import { describeIdentity } from './routes.ts'
import * as schemas from './schemas.ts'

/** Identities of users at providers and the tokens that are kept of them, for administrators. */
export function identityAdminRoutes(app: HttpServer, { accounts, secrets }: SocialLoginContext): void {
  const { database } = accounts
  app.get(
    '/api/admin/users/:id/identities',
    { config: { guard: 'admin', operation: 'users.listIdentities' }, schema: schemas.identitiesOfUserSchema },
    async (request, reply) => {
      await requireUser(database, request.params.id)
      return reply.send((await listIdentities(database, request.params.id)).map(describeIdentity))
    },
  )
  app.delete(
    '/api/admin/users/:id/identities/:provider',
    { config: { guard: 'admin', operation: 'users.removeIdentity' }, schema: schemas.removeIdentitySchema },
    async (request, reply) => {
      const { id, provider } = request.params
      await database.transaction(async (transaction) => {
        if ((await lockUser(transaction, id)) === undefined) throw userNotFound()
        const count = await deleteIdentities(transaction, id, provider)
        if (count === 0) throw socialLoginErrors.identityNotFound()
        const entry = { action: 'users.remove_identity', target: id, detail: { provider } }
        await recordAudit(transaction, { actor: 'admin', ...entry, origin: originOf(request) })
      })
      return reply.code(204).send()
    },
  )
  app.get(
    '/api/admin/users/:id/provider-tokens',
    { config: { guard: 'admin', operation: 'users.listProviderTokens' }, schema: schemas.tokensSchema },
    async (request, reply) => {
      const { id } = request.params
      await requireUser(database, id)
      const origin = originOf(request)
      await recordAudit(database, {
        actor: 'admin',
        action: 'users.read_provider_tokens',
        target: id,
        origin,
      })
      return reply.send(await readTokens(database, secrets, id))
    },
  )
  app.delete(
    '/api/admin/users/:id/provider-tokens/:provider',
    {
      config: { guard: 'admin', operation: 'users.removeProviderTokens' },
      schema: schemas.forgetTokensSchema,
    },
    async (request, reply) => {
      const { id, provider } = request.params
      await requireUser(database, id)
      await database.transaction(async (transaction) => {
        const count = await forgetTokens(transaction, id, provider)
        if (count === 0) throw socialLoginErrors.identityNotFound()
        const origin = originOf(request)
        await recordAudit(transaction, {
          actor: 'admin',
          action: 'users.remove_provider_tokens',
          target: id,
          detail: { provider },
          origin,
        })
      })
      return reply.code(204).send()
    },
  )
}
