import { flag, list, text } from '../../../config/keys.ts'
import { Type } from '../../../lib/type.ts'

/** `admin`: the administrator and the dashboard. */
export const adminConfig = Type.Object({
  enabled: flag(true, 'Serve the dashboard. The API of administration is served either way.'),
  path: text('/admin', 'Path of the dashboard.', {
    pattern: '^/[a-zA-Z0-9_.~-]+(/[a-zA-Z0-9_.~-]+)*$',
    expects: 'a path such as /admin, without a slash at its end',
  }),
  listen: text(
    '',
    'Address of a listener of its own for the dashboard and the API of administration, which server.port then does not answer. Empty: none.',
    {
      pattern: '^([^:\\s]+|\\[[0-9a-fA-F:]+\\]):\\d{1,5}$|^$',
      expects: 'an address and a port, such as 127.0.0.1:9090',
    },
  ),
  allowed_ips: list([], 'Addresses that reach the dashboard and the API of administration. Empty: all.', {
    pattern: '^[0-9a-fA-F:.]+(/\\d{1,3})?$',
    expects: 'a list of IP addresses or CIDR ranges',
  }),
  build: flag(
    true,
    'In a clone of the repository: build the dashboard beside the start when its sources have changed.',
  ),
  password: text('', 'Password of the administrator. Empty: generated at the first start and printed once.', {
    secret: true,
    pattern: '^(.{8,1024})?$',
    expects: 'at least 8 characters',
  }),
})
