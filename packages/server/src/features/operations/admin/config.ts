import { flag, list, text } from '../../../config/keys.ts'
import type { ConfigRule, RuleViolation } from '../../../config/rule.ts'
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
export const adminRules: readonly ConfigRule<Sections>[] = [administratorsAreAddresses, administrationIsApart]

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
