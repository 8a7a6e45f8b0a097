import { integer } from '../../../config/keys.ts'
import { type Static, Type } from '../../../lib/type.ts'

/** Configuration section `realtime`: streams and channels. */
export const realtimeConfig = Type.Object({
  max_connections_per_user: integer(
    100,
    'Maximum number of open streams of one user, over all nodes.',
    1,
    100_000,
  ),
  max_anonymous_connections_per_address: integer(
    50,
    'Maximum number of open streams without a token from one address, over all nodes. In development the limit is a hundred times as high.',
    0,
    100_000,
  ),
  heartbeat_interval_seconds: integer(
    20,
    'Seconds without data after which a stream sends a heartbeat.',
    1,
    300,
  ),
  resume_seconds: integer(
    300,
    'Seconds for which a table stays in the log of changes after its last stream, so that clients can resume.',
    0,
    86_400,
  ),
  sent_retention_hours: integer(
    24,
    'Retention in hours of the record of streams that received each change, for the timeline of events. 0 records nothing.',
    0,
    8760,
  ),
  broadcast_rate_limit_per_second: integer(
    100,
    'Maximum number of broadcasts that one connection may send in a second.',
    1,
    100_000,
  ),
  broadcast_max_message_bytes: integer(
    262_144,
    'Maximum size of a broadcast payload in bytes.',
    16,
    4_194_304,
  ),
  presence_leave_timeout_seconds: integer(
    10,
    'Seconds after which the presence of a disconnected client is removed.',
    0,
    300,
  ),
})

export type RealtimeConfig = Static<typeof realtimeConfig>
