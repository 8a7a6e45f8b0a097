import { noContent, ok, operation } from '../../../../http/operation.ts'
import { choice, component, nullable } from '../../../../http/schemas.ts'
import { messageOf } from '../../../../lib/errors.ts'
import { Type } from '../../../../lib/type.ts'
import { readCredentials } from '../credentials.ts'
import { pushErrors } from '../errors.ts'
import { type ProviderName, providerNames } from '../provider.ts'
import { provider } from '../register-device.ts'
import type { PushProviders } from '../registry.ts'

export interface ProviderDeps {
  /** Returns the providers. @throws AppError push_disabled */
  readonly providers: () => PushProviders
}

const PushProvider = component(
  'PushProvider',
  Type.Object({
    provider: choice(providerNames),
    source: nullable(choice(['database', 'configuration']), { description: 'Origin of the credentials.' }),
    sends: choice(['provider', 'log', 'nothing'], {
      description: 'Destination of messages. It is `log` in development without credentials.',
    }),
    details: nullable(Type.Object({}, { additionalProperties: true }), {
      description: 'Members of the credentials that are not secret.',
    }),
  }),
)

const getKey = operation({
  id: 'push.getWebPushKey',
  guard: 'bearer',
  method: 'GET',
  path: '/api/push/web-push-key',
  tag: 'push',
  summary: 'Get the key that browsers subscribe with',
  success: ok(
    Type.Object({
      public_key: Type.Optional(Type.String({ description: 'Missing without credentials of Web Push.' })),
    }),
  ),
  handle: ({ providers }: ProviderDeps) => ({ public_key: providers().webPushKey }),
})

const common = { guard: 'admin', permission: 'content.write', tag: 'push' } as const
const collection = '/api/admin/push/providers'
const item = `${collection}/:provider`
const params = Type.Object({ provider })

const list = operation({
  ...common,
  id: 'push.listProviders',
  permission: 'content.read',
  method: 'GET',
  path: collection,
  summary: 'List push providers',
  success: ok(Type.Object({ items: Type.Array(PushProvider) })),
  handle: ({ providers }: ProviderDeps) => ({ items: providers().list() }),
})

const change = operation({
  ...common,
  id: 'push.changeProvider',
  method: 'PUT',
  path: item,
  summary: 'Change the credentials of a push provider',
  description:
    'fcm has the members of the service account. apns has `key`, `team_id`, `key_id`, `bundle_id` and `environment`. webpush has `private_key` and `subject`. They are stored encrypted and never shown.',
  params,
  body: Type.Record(Type.String(), Type.Unknown()),
  success: ok(PushProvider),
  async handle({ providers }: ProviderDeps, { params: { provider }, body, origin }) {
    await providers().change(provider, parseCredentials(provider, body), origin)
    return providers().describe(provider)
  },
})

const reset = operation({
  ...common,
  id: 'push.resetProvider',
  method: 'DELETE',
  path: item,
  summary: 'Reset a push provider to the credentials of the configuration',
  params,
  success: noContent,
  handle: async ({ providers }: ProviderDeps, { params, origin }) =>
    await providers().reset(params.provider, origin),
})

/** Operations on push providers. */
export const providerOperations = [getKey, list, change, reset]

/** Parses the credentials of a provider. @throws AppError invalid_push */
function parseCredentials(name: ProviderName, body: Readonly<Record<string, unknown>>) {
  try {
    return readCredentials[name](body)
  } catch (error) {
    throw pushErrors.invalidPush(messageOf(error))
  }
}
