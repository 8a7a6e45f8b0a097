import { integer } from '../../../config/keys.ts'
import { type Static, Type } from '../../../lib/type.ts'

const requestLimits = Type.Object({
  per_user: integer(
    0,
    'Requests of one user to the data API within a minute, over all sessions, API keys, tokens and nodes. 0: no limit.',
    0,
    10_000_000,
  ),
  per_address: integer(
    0,
    'Requests from one client address to the data API within a minute, over all callers and nodes. IPv6 addresses count by their /64 network. 0: no limit.',
    0,
    10_000_000,
  ),
})

/** Configuration section `limits`. */
export const limitsConfig = Type.Object({ requests_per_minute: requestLimits })

export type RequestLimits = Static<typeof requestLimits>
