import { Command } from 'commander'
import { findRunningCluster } from '../database/embedded/cluster.ts'
import { postmasterPid } from '../database/embedded/lock-file.ts'
import { isOf } from '../lib/is-of.ts'
import { type Static, Type } from '../lib/type.ts'
import { loadServerConfig, print, printJson, type Terminal, withConfigFlags } from './context.ts'
import { findServers, type NotedServer } from './server-note.ts'

const timeoutMs = 5000

/**
 * Creates `basalt status`, which finds the servers of this data directory at any address. It exits with 1
 * unless every one of them is healthy.
 */
export function statusCommand(terminal: Terminal): Command {
  const command = new Command('status')
    .description('print whether the server of this data directory runs and its database is available')
    .option('--json', 'print an object with the state and the servers')
  return withConfigFlags(command).action(async (options: { json?: boolean }) => {
    const { config } = loadServerConfig(terminal, command)
    const dataDirectory = config.server.data_dir
    const servers = await Promise.all(findServers(dataDirectory).map(inspect))
    const state = overallState(servers)
    if (options.json === true) {
      printJson(terminal, { dataDirectory, state, servers })
    } else {
      print(
        terminal,
        servers.length === 0
          ? `stopped: no server of ${dataDirectory} runs\n`
          : servers.map(describe).join(''),
      )
      const postgres = config.database.url === '' ? findRunningCluster(dataDirectory) : undefined
      if (
        postgres !== undefined &&
        !servers.some(({ state }) => state === 'running' || state === 'starting')
      ) {
        print(
          terminal,
          `its PostgreSQL still runs (process ${postmasterPid(postgres)}): the next start takes it over\n`,
        )
      }
    }
    if (state !== 'running') terminal.exitCode = 1
  })
}

type State =
  /** The server responds and its database is available. */
  | 'running'
  /** The server does not listen yet. */
  | 'starting'
  /**
   * The server does not respond, or reports that it is unhealthy, such as without its database or while it
   * stops.
   */
  | 'unwell'
  /** The process ended without a proper stop. */
  | 'stale'
  | 'stopped'

/** Server with its state. */
export interface Inspected
  extends Pick<NotedServer, 'pid' | 'version' | 'startedAt' | 'url' | 'psql' | 'reload'> {
  readonly state: State
  /** Response of `GET /health`. */
  readonly health?: Static<typeof healthSchema>
}

/** Requests the health of a server, and returns its state. */
export async function inspect({ isAlive, ...noted }: NotedServer): Promise<Inspected> {
  const { pid, version, startedAt, url, psql, reload } = noted
  const server = { pid, version, startedAt, psql, ...(url && { url }), ...(reload && { reload }) }
  if (!isAlive) return { ...server, state: 'stale' }
  if (url === undefined) return { ...server, state: 'starting' }
  const health = await queryHealth(url)
  if (health === undefined) return { ...server, state: 'unwell' }
  return { ...server, state: health.status === 'ok' ? 'running' : 'unwell', health }
}

/** Returns the worst state of the running servers, so that an unhealthy node is noticed. */
function overallState(servers: readonly Inspected[]): State {
  const states = servers.map(({ state }) => state)
  for (const state of ['unwell', 'starting', 'running', 'stale'] as const)
    if (states.includes(state)) return state
  return 'stopped'
}

async function queryHealth(url: string): Promise<Static<typeof healthSchema> | undefined> {
  try {
    const response = await fetch(`${url}/health`, { signal: AbortSignal.timeout(timeoutMs) })
    const answer: unknown = await response.json()
    return isOf(healthSchema, answer) ? answer : undefined
  } catch {
    return undefined
  }
}

const healthSchema = Type.Object({
  status: Type.String(),
  database: Type.String(),
  workers: Type.Optional(
    Type.Object({
      serving: Type.Integer(),
      total: Type.Integer(),
      reloading: Type.Optional(Type.Boolean()),
    }),
  ),
})

function describe({ state, pid, url, version, health, psql, reload }: Inspected): string {
  const name = `process ${pid}, version ${version}`
  if (state === 'stale') return `stale: ${name} ended without stopping in order\n`
  if (state === 'starting') return `starting: ${name}\n`
  const workers =
    health?.workers &&
    `, ${health.workers.serving} of ${health.workers.total} workers${health.workers.reloading ? ', reloading' : ''}`
  const answer =
    health === undefined ? 'does not answer' : `${health.status}, database ${health.database}${workers ?? ''}`
  const failure = reload?.state === 'failed' ? [`the last reload failed: ${reload.reason}`] : []
  const lines = [...failure, ...psql].map((line) => `  ${line}\n`)
  return `${state}: ${url} (${name}): ${answer}\n${lines.join('')}`
}
