import type { Check } from './check.ts'
import { backup } from './checks/backup.ts'
import { bodyLimit } from './checks/body-limit.ts'
import { clock } from './checks/clock.ts'
import { connections } from './checks/connections.ts'
import { database } from './checks/database.ts'
import { disk } from './checks/disk.ts'
import { engine } from './checks/engine.ts'
import { eventStreams } from './checks/event-streams.ts'
import { forwardedHeaders } from './checks/forwarded-headers.ts'
import { hosts } from './checks/hosts.ts'
import { keys } from './checks/keys.ts'
import { listen } from './checks/listen.ts'
import { mail } from './checks/mail.ts'
import { migrations } from './checks/migrations.ts'
import { policies } from './checks/policies.ts'
import { pooler } from './checks/pooler.ts'
import { publicUrl } from './checks/public-url.ts'
import { replicas } from './checks/replicas.ts'
import { roles } from './checks/roles.ts'
import { server } from './checks/server.ts'
import { tls } from './checks/tls.ts'
import { websockets } from './checks/websockets.ts'
import { workers } from './checks/workers.ts'

/** Checks of `basalt doctor`, in the order of its report. A new one is a file of `checks/` and a line here. */
export const checks: readonly Check[] = [
  ...[server, database, hosts, replicas, workers, engine, pooler, listen, roles, policies],
  ...[migrations, keys, clock, connections, backup, disk, mail],
  ...[publicUrl, tls, eventStreams, websockets, bodyLimit, forwardedHeaders],
]
