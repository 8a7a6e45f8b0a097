import { userOf } from '../../../http/access/authentication.ts'
import { noContent, ok, operation } from '../../../http/operation.ts'
import { refusedWith, requiredByHandler } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { authenticationSchema, clientOf, fieldRequired } from '../accounts/index.ts'
import type { SocialLoginContext } from './context.ts'
import { linkByAccessToken, unlink } from './link.ts'
import { listIdentities, ProviderIdentity } from './queries.ts'
import { beginLink } from './start.ts'

/** Members that every description below shares. */
const common = { guard: 'bearer', tag: 'accounts' } as const
const path = '/api/auth/link/oauth'
const named = { description: 'Name of a provider such as `google`, or of an OpenID provider.' }
const provider = refusedWith(
  { missing: () => fieldRequired('provider') },
  Type.String({ minLength: 1, ...named }),
)
const text = (description: string) => Type.Optional(Type.String({ description, maxLength: 4096 }))

const link = operation({
  ...common,
  id: 'socialLogin.link',
  method: 'POST',
  path,
  summary: 'Link an anonymous account to an identity at a provider',
  body: Type.Object({
    provider: requiredByHandler(Type.String(named)),
    access_token: text("The provider's token, issued to this server's client."),
    id_token: text('The id_token, for Apple, whose access tokens identify no user.'),
  }),
  success: ok(authenticationSchema),
  handle: async (context: SocialLoginContext, { body, http }) =>
    await linkByAccessToken(context, userOf(http), body, clientOf(http)),
})

const begin = operation({
  ...common,
  id: 'socialLogin.beginLink',
  method: 'POST',
  path: `${path}/begin`,
  summary: 'Start to link a provider to the account',
  description:
    'The browser must open `url` within ten minutes. With a second factor enrolled, this requires an aal2 session.',
  body: Type.Object({
    provider,
    redirect_to: text('Address to return to: a path, or an address on an allowed host.'),
  }),
  success: ok(Type.Object({ url: Type.String({ format: 'uri' }) })),
  handle: async (context: SocialLoginContext, { body, http }) => ({
    url: await beginLink(context, userOf(http), body.provider, body.redirect_to),
  }),
})

const remove = operation({
  ...common,
  id: 'socialLogin.unlink',
  method: 'DELETE',
  path,
  summary: 'Unlink a provider from the account',
  description:
    'The last sign-in method cannot be removed. With a second factor enrolled, this requires an aal2 session.',
  body: Type.Object({ provider }),
  success: noContent,
  handle: async (context: SocialLoginContext, { body, http }) =>
    await unlink(context, userOf(http), body.provider),
})

const list = operation({
  ...common,
  id: 'socialLogin.listIdentities',
  method: 'GET',
  path: '/api/auth/identities',
  summary: "List the account's identities at providers",
  success: ok(Type.Array(ProviderIdentity)),
  handle: async ({ accounts }: SocialLoginContext, { http }) =>
    await listIdentities(accounts.database, userOf(http).userId),
})

/** Operations of the signed-in user on own identities. */
export const identityOperations = [link, begin, remove, list]
