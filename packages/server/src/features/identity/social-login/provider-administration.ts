import { noContent, ok, operation } from '../../../http/operation.ts'
import { checkedByHandler, choice, component, nullable } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { callbackUrl, type SocialLoginContext } from './context.ts'
import { socialLoginErrors } from './errors.ts'
import { findMissing } from './registry.ts'

const callback_url = Type.String({ description: 'Callback address to register at the provider.' })

const SignInProvider = component(
  'SignInProvider',
  Type.Object({
    name: Type.String(),
    type: choice(['builtin', 'oidc']),
    display_name: Type.String(),
    enabled: Type.Boolean(),
    client_id_configured: Type.Boolean(),
    client_secret_configured: Type.Boolean(),
    store_provider_tokens: Type.Boolean(),
    missing: nullable(Type.String(), {
      description: 'First missing setting that the provider requires.',
    }),
    changed: Type.Boolean({
      description: 'True if an administrator has changed the configuration of the provider.',
    }),
    callback_url,
  }),
)

/** Members that every description below shares. */
const common = { guard: 'admin', permission: 'owner', tag: 'admin' } as const
const collection = '/api/admin/auth/providers'
const item = `${collection}/:provider`
const params = Type.Object({
  provider: Type.String({ description: 'Name of a provider such as `google`, or of an OpenID provider.' }),
})

const list = operation({
  ...common,
  id: 'socialProviders.list',
  method: 'GET',
  path: collection,
  summary: 'List sign-in providers',
  success: ok(Type.Object({ providers: Type.Array(SignInProvider) })),
  handle: (context: SocialLoginContext) => ({ providers: listProviders(context) }),
})

const update = operation({
  ...common,
  id: 'socialProviders.update',
  stepUp: 'always',
  method: 'PUT',
  path: item,
  summary: 'Change a sign-in provider',
  description: 'Missing members stay unchanged. The change applies on every node within a second.',
  params,
  body: Type.Object({
    enabled: Type.Optional(Type.Boolean()),
    client_id: Type.Optional(
      checkedByHandler(
        { pattern: '^[^\\x00]*$' },
        Type.String({ description: 'Id of the client.', maxLength: 4096 }),
      ),
    ),
    client_secret: Type.Optional(
      Type.String({ description: 'Secret of the client. It is stored encrypted.', maxLength: 4096 }),
    ),
    store_provider_tokens: Type.Optional(Type.Boolean()),
  }),
  success: ok(SignInProvider),
  async handle(context: SocialLoginContext, { params: { provider }, body, origin }) {
    requireProvider(context, provider)
    await context.registry.change(provider, body, origin)
    const changed = listProviders(context).find(({ name }) => name === provider)
    if (changed === undefined) throw socialLoginErrors.unknownProvider(provider)
    return changed
  },
})

const reset = operation({
  ...common,
  id: 'socialProviders.reset',
  stepUp: 'always',
  method: 'DELETE',
  path: item,
  summary: 'Reset a sign-in provider to the configuration',
  params,
  success: noContent,
  async handle(context: SocialLoginContext, { params: { provider }, origin }) {
    requireProvider(context, provider)
    await context.registry.reset(provider, origin)
  },
})

const test = operation({
  ...common,
  id: 'socialProviders.test',
  method: 'POST',
  path: `${item}/test`,
  summary: 'Test a sign-in provider',
  description: 'Discovers the provider and checks at its token endpoint whether it knows the client.',
  params,
  success: ok(Type.Object({ success: Type.Boolean(), message: Type.String(), callback_url })),
  async handle(context: SocialLoginContext, { params: { provider } }) {
    const client = requireProvider(context, provider)
    const callback = callbackUrl(context, provider)
    const missing = findMissing(client)
    const problem = missing === undefined ? await client.findProblem(callback) : `${missing} is not set`
    return {
      success: problem === undefined,
      message: problem ?? 'the provider knows the client',
      callback_url: callback,
    }
  },
})

/** Operations of administrators on sign-in providers. */
export const providerAdministration = [list, update, reset, test]

function listProviders(context: SocialLoginContext) {
  return context.registry
    .list()
    .map((provider) => ({ ...provider, callback_url: callbackUrl(context, provider.name) }))
}

/** Returns a provider. @throws AppError unknown_provider */
function requireProvider({ registry }: SocialLoginContext, name: string) {
  const client = registry.findAny(name)
  if (client === undefined) throw socialLoginErrors.unknownProvider(name)
  return client
}
