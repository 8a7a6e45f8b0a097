import { integer } from '../../../config/keys.ts'
import { type Static, Type } from '../../../lib/type.ts'

/** `realtime`: streams and channels. */
export const realtimeConfig = Type.Object({
  max_connections_per_user: integer(100, 'Streams that one user may have open, over all nodes.', 1, 100_000),
  max_anonymous_connections_per_address: integer(
    50,
    'Streams without a token that one address may have open, over all nodes; a hundred times as many in development.',
    0,
    100_000,
  ),
  heartbeat_interval_seconds: integer(
    20,
    'Seconds after which a quiet stream shows that it is alive.',
    1,
    300,
  ),
  resume_seconds: integer(
    300,
    'Seconds for which a table stays in the log of changes after its last stream, for clients that resume.',
    0,
    86_400,
  ),
  sent_retention_hours: integer(
    24,
    'Hours for which is recorded which streams were sent which change, for the timeline of events; 0 records nothing.',
    0,
    8760,
  ),
  broadcast_rate_limit_per_second: integer(
    100,
    'Broadcasts that one connection may send in a second.',
    1,
    100_000,
  ),
  broadcast_max_message_bytes: integer(262_144, 'Largest payload of a broadcast.', 16, 4_194_304),
  presence_leave_timeout_seconds: integer(
    10,
    'Seconds after which a presence is removed when its connection has ended.',
    0,
    300,
  ),
})

export type RealtimeConfig = Static<typeof realtimeConfig>
