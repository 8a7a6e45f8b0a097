import { flag, list, plain, secret, table, text, webAddress } from '../../../config/keys.ts'
import type { ConfigRule, RuleViolation } from '../../../config/rule.ts'
import { type Static, Type } from '../../../lib/type.ts'

/** Returns the keys that every provider has. */
function provider(title: string) {
  return {
    enabled: flag(false, `True if users may sign in with ${title}.`),
    client_id: plain(`Id of this server's client at ${title}.`),
    client_secret: secret(`Secret of this server's client at ${title}.`),
    store_provider_tokens: flag(false, `True if tokens of ${title} are stored, encrypted.`),
  }
}

const oidcProvider = Type.Object(
  {
    enabled: Type.Optional(Type.Boolean()),
    issuer_url: Type.String({
      pattern: '^(https://[^\\s?#]+|http://(localhost|127\\.0\\.0\\.1|\\[::1\\])([:/][^\\s?#]*)?)$',
    }),
    client_id: Type.String({ minLength: 1 }),
    client_secret: Type.Optional(Type.String()),
    scopes: Type.Optional(Type.Array(Type.String({ pattern: '^[\\x21\\x23-\\x5b\\x5d-\\x7e]+$' }))),
    display_name: Type.Optional(Type.String({ maxLength: 100 })),
    store_provider_tokens: Type.Optional(Type.Boolean()),
  },
  { additionalProperties: false },
)

/** Keys of `auth` for sign-in with other providers. */
export const socialLoginKeys = {
  oauth_redirect_url: webAddress(
    'Address that users return to after signing in with a provider, with the tokens in the fragment. Empty means that the callback responds with JSON.',
  ),
  oauth_return_to_allowlist: list(
    [],
    'Further hosts that redirect_to may name. The host of auth.oauth_redirect_url is always allowed.',
    { pattern: '^[a-z0-9.-]+$', expects: 'a list of host names in lower case, such as app.example.com' },
  ),
  oauth: Type.Object({
    google: Type.Object(provider('Google')),
    github: Type.Object(provider('GitHub')),
    microsoft: Type.Object({
      ...provider('Microsoft'),
      tenant_id: text('common', 'Tenant whose users may sign in.', {
        pattern: '^[A-Za-z0-9.-]+$',
        expects: 'common, organizations, consumers or the id of a tenant',
      }),
    }),
    apple: Type.Object({
      ...provider('Apple'),
      team_id: plain('Id of the developer team at Apple.'),
      key_id: plain('Id of the key at Apple.'),
      private_key: secret('Private key at Apple (PEM), which signs the client secret.'),
    }),
    discord: Type.Object(provider('Discord')),
    twitter: Type.Object(provider('X')),
    facebook: Type.Object({
      ...provider('Facebook'),
      facebook_api_version: text('v22.0', 'Version of the Graph API.', {
        pattern: '^v\\d+\\.\\d+$',
        expects: 'a version such as v22.0',
      }),
    }),
    linkedin: Type.Object(provider('LinkedIn')),
    spotify: Type.Object(provider('Spotify')),
    twitch: Type.Object(provider('Twitch')),
    gitlab: Type.Object({
      ...provider('GitLab'),
      gitlab_base_url: text('https://gitlab.com', 'Address of the GitLab instance.', {
        pattern: '^https?://[^\\s?#]+$',
        expects: 'an http or https URL',
      }),
    }),
    bitbucket: Type.Object(provider('Bitbucket')),
    slack: Type.Object(provider('Slack')),
    zoom: Type.Object(provider('Zoom')),
    notion: Type.Object(provider('Notion')),
    figma: Type.Object(provider('Figma')),
  }),
  oidc: table(
    oidcProvider,
    'OpenID providers by a name of your choice. The address of an issuer uses https, or http on the same machine.',
    {
      expects:
        'tables such as {acme = {enabled = true, issuer_url = "https://login.example.com", client_id = "…", client_secret = "…"}}',
      secret: true,
    },
  ),
}

export type SocialLoginConfig = Static<ReturnType<typeof Type.Object<typeof socialLoginKeys>>>

/** Rules of sign-in providers. */
export const socialLoginRules: readonly ConfigRule<Sections>[] = [
  oauthRedirectIsUrl,
  signInProvidersNeedTheirKeys,
  openIdNamesAreFree,
]

interface Sections {
  readonly auth: SocialLoginConfig
}

function oauthRedirectIsUrl({ auth }: Sections): RuleViolation | undefined {
  if (auth.oauth_redirect_url === '' || URL.canParse(auth.oauth_redirect_url)) return undefined
  return { key: 'auth.oauth_redirect_url', problem: `"${auth.oauth_redirect_url}" is not a URL` }
}

/** Keys that Apple requires. Its client secret is made from the private key. */
const appleKeys = ['client_id', 'team_id', 'key_id', 'private_key']

function signInProvidersNeedTheirKeys({ auth }: Sections): RuleViolation[] {
  return Object.entries(auth.oauth).flatMap(([name, provider]) => {
    const values: Readonly<Record<string, unknown>> = provider
    const needed = name === 'apple' ? appleKeys : ['client_id', 'client_secret']
    return needed
      .filter((key) => provider.enabled && values[key] === '')
      .map((key) => ({
        key: `auth.oauth.${name}.${key}`,
        problem: `required with auth.oauth.${name}.enabled = true`,
      }))
  })
}

function openIdNamesAreFree({ auth }: Sections): RuleViolation[] {
  return Object.keys(auth.oidc)
    .filter((name) => name in auth.oauth)
    .map((name) => ({ key: 'auth.oidc', problem: `"${name}" is a built-in provider: choose another name` }))
}
