import { originOf } from '../../../http/requests/request-origin.ts'
import type { HttpServer } from '../../../http/server.ts'
import { callbackUrl, type SocialLoginContext } from './context.ts'
import { socialLoginErrors } from './errors.ts'
import { findMissing } from './registry.ts'
import * as schemas from './schemas.ts'

/** Providers, for administrators. */
export function socialLoginAdminRoutes(app: HttpServer, context: SocialLoginContext): void {
  const { registry } = context
  const path = '/api/admin/auth/providers'
  const requireProvider = (name: string) => {
    const client = registry.findAny(name)
    if (client === undefined) throw socialLoginErrors.unknownProvider(name)
    return client
  }
  const listProviders = () =>
    registry.list().map((provider) => ({ ...provider, callback_url: callbackUrl(context, provider.name) }))
  app.get(
    path,
    { config: { guard: 'admin', operation: 'socialProviders.list' }, schema: schemas.providersSchema },
    async (_request, reply) => reply.send({ providers: listProviders() }),
  )
  app.put(
    `${path}/:provider`,
    { config: { guard: 'admin', operation: 'socialProviders.update' }, schema: schemas.changeProviderSchema },
    async (request, reply) => {
      const { provider } = request.params
      requireProvider(provider)
      await registry.change(provider, request.body, originOf(request))
      const changed = listProviders().find(({ name }) => name === provider)
      if (changed === undefined) throw socialLoginErrors.unknownProvider(provider)
      return reply.send(changed)
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
}
