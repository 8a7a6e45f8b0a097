import { originOf } from '../../../http/request-origin.ts'
import type { HttpServer } from '../../../http/server.ts'
import { isUuid } from '../../../lib/uuid.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import { findUserById, userNotFound } from '../accounts/index.ts'
import { callbackUrl, type SocialLoginContext } from './context.ts'
import { socialLoginErrors } from './errors.ts'
import { forgetTokens, readTokens } from './provider-tokens.ts'
import { findMissing } from './registry.ts'
import * as schemas from './schemas.ts'

/** Providers and their tokens, for administrators. */
export function socialLoginAdminRoutes(app: HttpServer, context: SocialLoginContext): void {
  const { registry, accounts } = context
  const { database } = accounts
  const path = '/api/admin/auth/providers'
  const requireProvider = (name: string) => {
    const client = registry.findAny(name)
    if (client === undefined) throw socialLoginErrors.unknownProvider(name)
    return client
  }
  const requireUser = async (id: string) => {
    if (!isUuid(id) || (await findUserById(database, id)) === undefined) throw userNotFound()
  }
  app.get(
    path,
    { config: { guard: 'admin', operation: 'socialProviders.list' }, schema: schemas.providersSchema },
    (_request, reply) => reply.send({ providers: registry.list() }),
  )
  app.put(
    `${path}/:provider`,
    { config: { guard: 'admin', operation: 'socialProviders.update' }, schema: schemas.changeProviderSchema },
    async (request, reply) => {
      const { provider } = request.params
      requireProvider(provider)
      await registry.change(provider, request.body, originOf(request))
      return reply.send(registry.list().find(({ name }) => name === provider))
    },
  )
  app.delete(
    `${path}/:provider`,
    { config: { guard: 'admin', operation: 'socialProviders.reset' }, schema: schemas.resetProviderSchema },
    async (request, reply) => {
      requireProvider(request.params.provider)
      await registry.reset(request.params.provider, originOf(request))
      return reply.code(204).send()
    },
  )
  app.post(
    `${path}/:provider/test`,
    { config: { guard: 'admin', operation: 'socialProviders.test' }, schema: schemas.testProviderSchema },
    async (request, reply) => {
      const { provider } = request.params
      const client = requireProvider(provider)
      const callback = callbackUrl(context, provider)
      const missing = findMissing(client)
      const problem = missing === undefined ? await client.findProblem(callback) : `${missing} is not set`
      return reply.send({
        success: problem === undefined,
        message: problem ?? 'the provider knows the client',
        callback_url: callback,
      })
    },
  )
  app.get(
    '/api/admin/users/:id/provider-tokens',
    { config: { guard: 'admin', operation: 'users.listProviderTokens' }, schema: schemas.tokensSchema },
    async (request, reply) => {
      const { id } = request.params
      await requireUser(id)
      const origin = originOf(request)
      await recordAudit(database, {
        actor: 'admin',
        action: 'users.read_provider_tokens',
        target: id,
        origin,
      })
      return reply.send(await readTokens(database, context.secrets, id))
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
      await requireUser(id)
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
