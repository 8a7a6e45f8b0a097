import { resolve } from 'node:path'
import process from 'node:process'
import { setTimeout as delay } from 'node:timers/promises'
import { Command, InvalidArgumentError } from 'commander'
import { codeOf, OperatorError } from '../lib/errors.ts'
import type { Reload } from '../workers/reloads.ts'
import { loadServerConfig, print, type Terminal, withConfigFlags } from './context.ts'
import { explainRestart, reloadSignal } from './reload-signal.ts'
import { describeServer, findServers, type NotedServer } from './server-note.ts'

const pollMs = 100
const defaultTimeoutSeconds = 300

/**
 * Creates `basalt reload`, which replaces the workers of a running server. It exits with 0 once the new workers
 * serve, and with 1 if the previous ones continue.
 */
export function reloadCommand(terminal: Terminal): Command {
  const command = new Command('reload')
    .description(
      'replace the workers of the running server by others with the configuration and version of now, without a failed request',
    )
    .option('--timeout <seconds>', 'seconds to wait for the outcome', parseSeconds, defaultTimeoutSeconds)
  return withConfigFlags(command).action(async ({ timeout }: { timeout: number }) => {
    const dataDirectory = findDataDirectory(terminal, command)
    const servers = findServers(dataDirectory).filter(({ isAlive }) => isAlive)
    if (servers.length === 0) throw new OperatorError(`no server of ${dataDirectory} runs`)
    for (const server of servers) {
      const { workers, version } = await reload(dataDirectory, server, timeout * 1000)
      print(terminal, `reloaded: ${workers} workers serve ${server.url} (version ${version})\n`)
    }
  })
}

function parseSeconds(text: string): number {
  const seconds = Number(text)
  if (!/^\d+$/.test(text) || seconds < 1 || seconds > 86_400)
    throw new InvalidArgumentError('It is not a number of seconds from 1 to 86400.')
  return seconds
}

/**
 * Returns the data directory of the configuration. If that is invalid, a server of the default directory reports the
 * fault in its log as well.
 *
 * @throws OperatorError if the configuration is invalid and no server runs there
 */
function findDataDirectory(terminal: Terminal, command: Command): string {
  try {
    return loadServerConfig(terminal, command).config.server.data_dir
  } catch (error) {
    const { serverDataDir, dataDir } = command.opts<Record<string, string | undefined>>()
    const given = dataDir ?? serverDataDir ?? terminal.env.BASALT_SERVER_DATA_DIR
    const directory = resolve(terminal.cwd(), given || '.basalt')
    if (findServers(directory).some(({ isAlive }) => isAlive)) return directory
    throw error
  }
}

/**
 * Requests a reload, and waits for its outcome.
 *
 * @throws OperatorError with the reason for which the previous workers continue
 */
async function reload(dataDirectory: string, server: NotedServer, timeoutMs: number): Promise<Reload> {
  if (server.url === undefined) throw new OperatorError(`not reloaded: ${describeServer(server)}`)
  if (server.hasWorkers !== true) throw new OperatorError(explainRestart(server.command))
  // A reload in progress may have read the configuration of before.
  const number = (server.reload?.number ?? 0) + 1
  requestReload(server)
  const deadline = performance.now() + timeoutMs
  for (;;) {
    const current = findServers(dataDirectory).find(
      ({ pid, startedAt, isAlive }) => isAlive && pid === server.pid && startedAt === server.startedAt,
    )
    if (current === undefined)
      throw new OperatorError(`not reloaded: the server (process ${server.pid}) has ended`)
    const { reload: last } = current
    if (last !== undefined && last.number >= number && last.state !== 'running') {
      if (last.state === 'done') return last
      throw new OperatorError(`not reloaded: ${last.reason}; the previous workers continue`)
    }
    if (performance.now() > deadline)
      throw new OperatorError(
        `the reload has no outcome after ${timeoutMs / 1000} s: see the log of the server (process ${server.pid})`,
      )
    await delay(pollMs)
  }
}

function requestReload({ pid }: NotedServer): void {
  try {
    process.kill(pid, reloadSignal)
  } catch (error) {
    // A process that has ended is noticed by its note.
    if (codeOf(error) === 'ESRCH') return
    if (codeOf(error) !== 'EPERM') throw error
    throw new OperatorError(
      `the server (process ${pid}) belongs to another account: run this command as that account`,
    )
  }
}
