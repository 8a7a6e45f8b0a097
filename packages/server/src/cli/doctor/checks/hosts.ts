import type { Connection } from '../../../database/connection/connection.ts'
import { StatementFailed } from '../../../database/connection/message.ts'
import { type ServerState, stateCall, stateOf } from '../../../database/primary/server-state.ts'
import { type Check, type Finding, failure, ok, warning } from '../check.ts'
import { CheckSkipped } from '../check-skipped.ts'

/** Check of the hosts in `database.url`: one is the primary, and the others could replace it. */
export const hosts: Check = {
  id: 'hosts',
  async run({ database }) {
    const outcomes = await database.useHosts(readState)
    if (outcomes.length < 2) throw new CheckSkipped('database.url names one host')
    const reached = outcomes.flatMap((outcome) =>
      'result' in outcome ? [{ host: outcome.host, ...outcome.result }] : [],
    )
    const lost = outcomes.flatMap((outcome) => ('reason' in outcome ? [outcome] : []))
    return [
      ...lost.map(({ host, reason }) =>
        warning(
          'hosts.unreachable',
          `${host} of database.url cannot be reached (${reason}), so it could not take over`,
          isReadyCommand(host),
        ),
      ),
      ...describePrimary(reached),
      ...describeClusters(reached),
    ]
  },
}

/** Returns the command that tries a host. @param host as `host:port` */
export function isReadyCommand(host: string): string {
  return `pg_isready -h ${host.replace(/:(\d+)$/, ' -p $1')}   # then its log and its pg_hba.conf`
}

/** State of a host that responded. */
interface HostState extends ServerState {
  readonly host: string
}

/** Reads the state of a server. Its cluster is unknown where the login may not read it. */
async function readState(connection: Connection): Promise<ServerState> {
  try {
    return stateOf(await connection.send([stateCall(true)]))
  } catch (error) {
    if (!(error instanceof StatementFailed)) throw error
    return stateOf(await connection.send([stateCall(false)]))
  }
}

function describePrimary(reached: readonly HostState[]): Finding[] {
  const id = 'hosts'
  const primaries = reached.filter(({ isStandby }) => !isStandby)
  const [primary, ...others] = primaries
  if (primary === undefined) {
    return [
      failure(
        id,
        'no host of database.url is a primary: writes get 503',
        'select pg_promote();  -- on the standby that takes over',
      ),
    ]
  }
  if (others.length > 0) {
    const names = primaries.map(
      ({ host, timeline }) => `${host}${timeline === undefined ? '' : ` (timeline ${timeline})`}`,
    )
    return [
      failure(
        id,
        `${names.join(' and ')} are primaries at once`,
        'pg_ctl stop --mode=fast   # on the one with the lower timeline, then pg_rewind',
      ),
    ]
  }
  const standbys = reached.filter(({ isStandby }) => isStandby).map(({ host }) => host)
  const rest = standbys.length === 0 ? 'no standby can be reached' : `standby: ${standbys.join(', ')}`
  return [ok(id, `${primary.host} is the primary; ${rest}`)]
}

function describeClusters(reached: readonly HostState[]): Finding[] {
  const systems = Map.groupBy(
    reached.filter(({ system }) => system !== undefined),
    ({ system }) => system,
  )
  if (systems.size < 2) return []
  const groups = [...systems.values()].map((servers) => servers.map(({ host }) => host).join(', '))
  return [
    failure(
      'hosts.clusters',
      `the hosts of database.url belong to different clusters: ${groups.join(' / ')}`,
      'url = "postgresql://…"   # in [database]: the primary and its standbys only',
    ),
  ]
}
