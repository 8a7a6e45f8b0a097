import { choice, flag, list, plain, secret, table, text } from '../../../config/keys.ts'
import type { ConfigRule, RuleViolation } from '../../../config/rule.ts'
import { type AdministratorRole, administratorRoles } from '../../../http/access/permissions.ts'
import { isAddressRange } from '../../../lib/addresses.ts'
import { type Static, Type } from '../../../lib/type.ts'

/** Keys of `admin`, for the administrator and the dashboard. */
export const adminConfig = Type.Object({
  enabled: flag(true, 'True if the dashboard is served. The admin API is always served.'),
  path: text('/admin', 'Path of the dashboard.', {
    pattern: '^/[a-zA-Z0-9_.~-]+(/[a-zA-Z0-9_.~-]+)*$',
    expects: 'a path such as /admin, without a slash at its end',
  }),
  listen: text(
    '',
    'Address of a separate listener for the dashboard and the admin API, which server.port then does not serve. Empty means none.',
    {
      pattern: '^([^:\\s]+|\\[[0-9a-fA-F:]+\\]):\\d{1,5}$|^$',
      expects: 'an address and a port, such as 127.0.0.1:9090',
    },
  ),
  allowed_ips: list([], 'Addresses that may reach the dashboard and the admin API. Empty means all.', {
    pattern: '^[0-9a-fA-F:.]+(/\\d{1,3})?$',
    expects: 'a list of IP addresses or CIDR ranges',
  }),
  build: flag(
    true,
    'True if a clone of the repository builds the dashboard at startup, in the background, when its sources have changed.',
  ),
  require_second_factor: flag(
    false,
    'True if administrators without a second factor may only enrol one. Tokens of the command line are exempt.',
  ),
  password_sign_in: flag(
    true,
    'True if administrators sign in with passwords and passkeys. False leaves only admin.oidc, and links of `basalt admin recover`.',
  ),
  oidc: Type.Object({
    issuer: text(
      '',
      'Address of the OpenID provider with which administrators sign in, as in its discovery document. Empty means none.',
      {
        pattern: '^(https://[^\\s?#]+|http://(localhost|127\\.0\\.0\\.1|\\[::1\\])([:/][^\\s?#]*)?)?$',
        expects: 'an https URL, or http on the same machine',
      },
    ),
    client_id: plain("Id of this server's client at the provider."),
    client_secret: secret("Secret of this server's client at the provider."),
    name: text('', 'Name of the provider on the sign-in page. Empty means its host name.', {
      pattern: '^.{0,60}$',
      expects: 'at most 60 characters',
    }),
    scopes: list(['openid', 'profile', 'email'], 'Scopes of the sign-in.', {
      pattern: '^[\\x21\\x23-\\x5b\\x5d-\\x7e]+$',
      expects: 'a list of scopes, one of which is openid',
    }),
    groups_claim: text('groups', 'Claim with the groups of a person: a text, or a list of texts.', {
      pattern: '^.{1,200}$',
      expects: 'the name of a claim',
    }),
    roles: table(
      Type.Unsafe<AdministratorRole>(Type.String({ pattern: `^(${administratorRoles.join('|')})$` })),
      'Role by group. At each sign-in, a person gets the role with most rights. Empty means that owners decide the roles.',
      {
        names: '^.{1,256}$',
        expects: `tables such as {"platform team" = "developer"}, with the roles ${administratorRoles.join(', ')}`,
      },
    ),
    default_role: choice<AdministratorRole | ''>(
      '',
      ['', ...administratorRoles],
      'Role of people without one of the groups. Empty means that they are refused.',
    ),
    trusted_factors: list(
      [],
      'Values of the claims amr and acr with which the provider reports two factors, such as mfa. Without them, a sign-in counts as one factor.',
      { pattern: '^[\\x21-\\x7e]{1,200}$', expects: 'a list of values without blanks' },
    ),
  }),
  password: text(
    '',
    'Password of the administrator. If empty, it is generated at the first start and printed once.',
    {
      secret: true,
      pattern: '^(.{8,1024})?$',
      expects: 'at least 8 characters',
    },
  ),
})

export type AdminConfig = Static<typeof adminConfig>

/** Rules of `admin`. */
export const adminRules: readonly ConfigRule<Sections>[] = [
  administratorsAreAddresses,
  administrationIsApart,
  providerIsComplete,
]

interface Sections {
  readonly admin: AdminConfig
}

function administratorsAreAddresses({ admin }: Sections): RuleViolation | undefined {
  const wrong = admin.allowed_ips.find((range) => !isAddressRange(range))
  if (wrong === undefined) return undefined
  return { key: 'admin.allowed_ips', problem: `"${wrong}" is not an IP address or CIDR range` }
}

/** Rejects a dashboard path that is one of the API, and an invalid port. */
function administrationIsApart({ admin }: Sections): RuleViolation[] {
  const [, first = ''] = admin.path.split('/')
  const port = Number(/\d+$/.exec(admin.listen)?.[0] ?? 0)
  return [
    ...(ownPaths.has(first)
      ? [{ key: 'admin.path', problem: `"${admin.path}" is a path of the API: choose another one` }]
      : []),
    ...(port > 65535 ? [{ key: 'admin.listen', problem: `${port} is not a port` }] : []),
  ]
}

/** Rejects a provider without a client or a dashboard, and a configuration without any way to sign in. */
function providerIsComplete({ admin: { oidc, ...admin } }: Sections): RuleViolation[] {
  if (oidc.issuer === '') {
    const problem = 'false requires admin.oidc.issuer: no administrator could sign in'
    return admin.password_sign_in ? [] : [{ key: 'admin.password_sign_in', problem }]
  }
  return [
    ...(oidc.client_id === ''
      ? [{ key: 'admin.oidc.client_id', problem: 'required with admin.oidc.issuer' }]
      : []),
    ...(oidc.scopes.includes('openid')
      ? []
      : [{ key: 'admin.oidc.scopes', problem: 'expected the scope openid among them' }]),
    ...(admin.enabled
      ? []
      : [{ key: 'admin.oidc.issuer', problem: 'requires admin.enabled = true: the dashboard signs in' }]),
  ]
}

const ownPaths: ReadonlySet<string> = new Set([
  'api',
  'auth',
  'oauth',
  'health',
  'metrics',
  '_sites',
  '.well-known',
  'favicon.ico',
  'favicon.svg',
])
