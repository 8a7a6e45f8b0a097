import { Command } from 'commander'
import type { Logger } from 'pino'
import type { App, AppOptions } from '../app.ts'
import { countWorkers } from '../config/workers.ts'
import type { Config } from '../configuration.ts'
import { returnIdleMemory } from '../lib/idle-memory.ts'
import { createLogger, resolveLogging } from '../log.ts'
import { readVersion } from '../package.ts'
import { reportStart, type StartReport } from '../start-report.ts'
import type { WorkersOptions } from '../workers/parent.ts'
import { announce, keepFirstSignIn } from './announcement.ts'
import { loadServerConfig, type Terminal, withConfigFlags } from './context.ts'
import { endLeftOverWorkers } from './left-over-workers.ts'
import { explainRestart, reloadSignal } from './reload-signal.ts'
import { noteServer, type ServerNote } from './server-note.ts'

export function startCommand(terminal: Terminal): Command {
  const command = new Command('start').description(
    'start the server, and the embedded PostgreSQL unless database.url is set',
  )
  return withConfigFlags(command).action(() => serve(terminal, loadServerConfig(terminal, command).config))
}

/** Function that runs when the server listens. It returns the means to stop its own work. */
export type OnStarted = (app: App, config: Config, log: Logger) => { stop(): Promise<void> }

/** Development beside a server. */
export interface Development extends Pick<AppOptions, 'providerStandIn'> {
  readonly onStarted: OnStarted
}

/**
 * Runs a server until a signal stops it.
 *
 * @param development of `basalt dev`; undefined for `basalt start`
 */
export async function serve(terminal: Terminal, loaded: Config, development?: Development): Promise<void> {
  const isTerminal = terminal.stdout.isTTY === true
  const config = { ...loaded, logging: resolveLogging(loaded.logging, isTerminal) }
  const output = await createLogger(config.logging, isTerminal, (problem) =>
    terminal.stderr.write(`basalt: ${problem}\n`),
  )
  let log = output
  // Work beside the server uses its parts, which are those of one process.
  const workers = development === undefined ? countWorkers(config) : 1
  const startedAt = performance.now()
  // This precedes all work that a signal must not leave half done.
  const interruption = new AbortController()
  let besides: ReturnType<OnStarted> | undefined
  const beforeStop = async () => besides?.stop()
  stopOnSignals({
    terminal,
    starting: () => starting,
    beforeStop,
    interruption,
    log: () => log,
    note: () => note,
    command: commandOf(development),
  })
  const note = noteServer(config.server.data_dir, {
    pid: terminal.pid,
    version: readVersion(),
    database: config.database.url === '' ? 'embedded' : 'external',
    hasWorkers: workers > 1,
    command: commandOf(development),
  })
  const { signal } = interruption
  const starting: Promise<Server> = endLeftOverWorkers(note.leftOver, { log: output, signal }).then(() =>
    workers === 1
      ? startApp({ config, log: output, signal, ...partsOf(development) })
      : startMachine(terminal, {
          config,
          total: workers,
          log: output,
          signal,
          isTerminal,
          onLaunch: (pids) => note.updateWorkers(pids),
          onFailure: (reason) => void endWith(reason),
          onReload: (reload) =>
            note.update({ reload, ...(reload.version === undefined ? {} : { version: reload.version }) }),
          onReplaced: ({ facts, firstSignIn }, config) => {
            if (firstSignIn !== undefined) keepFirstSignIn(firstSignIn, facts, config, log)
          },
        }),
  )
  const endWith = async (reason: string) => {
    terminal.stderr.write(`basalt: ${reason}\n`)
    await (await starting).close()
    note.remove()
    terminal.exit(1)
  }
  try {
    const server = await starting
    // A stop that has begun ends the process.
    if (signal.aborted) return
    log = server.log
    const { url, psql, ...report } = server.report
    note.update({ url, psql: [...psql] })
    const startupMs = performance.now() - startedAt
    const command = commandOf(development)
    announce({ terminal, command, ...report, config, log, storedLog: server.storedLog, startupMs })
    returnIdleMemory()
    const { app } = server
    // The build starts only now, so that the first API response is not delayed.
    if (config.admin.build) app?.dashboard?.build(log)
    if (app !== undefined) besides = development?.onStarted(app, config, log)
  } catch (error) {
    if (signal.aborted) return
    note.remove()
    throw error
  }
}

/** Server that listens: a process, or several workers. */
interface Server extends Pick<App, 'log' | 'storedLog' | 'drain' | 'cutOff' | 'close'> {
  readonly report: StartReport
  /** Parts of the server; undefined with several workers. */
  readonly app?: App
  /** Kills the workers. */
  kill?(): void
  /** Replaces the processes; undefined with a single one. */
  readonly reload?: () => void
}

async function startMachine(
  terminal: Terminal,
  options: Omit<WorkersOptions, 'executable' | 'flags' | 'stderr'>,
): Promise<Server> {
  // A single process does not need these modules.
  const { startWorkers } = await import('../workers/parent.ts')
  return await startWorkers({
    ...options,
    executable: terminal.argv[1] ?? '',
    flags: terminal.argv.slice(3),
    stderr: terminal.stderr,
  })
}

function commandOf(development: Development | undefined): 'basalt start' | 'basalt dev' {
  return development === undefined ? 'basalt start' : 'basalt dev'
}

function partsOf(development: Development | undefined): Pick<AppOptions, 'command' | 'providerStandIn'> {
  const { providerStandIn } = development ?? {}
  return { command: commandOf(development), ...(providerStandIn === undefined ? {} : { providerStandIn }) }
}

async function startApp(options: AppOptions): Promise<Server> {
  const { config } = options
  // The parent of workers does not need these modules.
  const { createApp } = await import('../app.ts')
  const app = await createApp(options)
  try {
    await app.listen()
    return { ...app, app, report: reportStart(app, config) }
  } catch (error) {
    await app.close()
    throw error
  }
}

/**
 * Time in which signals count as one. A single Ctrl-C can arrive several times: from the terminal, and from
 * npm, which passes it on.
 */
const sameSignalMs = 2000

interface Stopping {
  readonly terminal: Terminal
  readonly starting: () => Promise<Server>
  /** Ends work beside the server. */
  readonly beforeStop: () => Promise<void>
  readonly interruption: AbortController
  /** Returns the log of the server, once it listens. */
  readonly log: () => Logger
  readonly note: () => ServerNote
  readonly command: 'basalt start' | 'basalt dev'
}

/**
 * Handles signals. The first one cancels a start, or stops in order and completes requests in flight. The next
 * one, after a while, aborts the requests in flight, if there are any. A further one ends the process.
 */
function stopOnSignals(stopping: Stopping): void {
  const { terminal, starting, interruption, log, note, command } = stopping
  let started: Server | undefined
  let signals = 0
  let lastSignalAt = Number.NEGATIVE_INFINITY
  const handle = (signal: string) => {
    const isSame = performance.now() - lastSignalAt < sameSignalMs
    if (isSame) return
    lastSignalAt = performance.now()
    signals += 1
    if (signals === 1) {
      log().info({ signal }, 'stopping')
      interruption.abort()
      starting().then(
        (app) => {
          started = app
          return stop(stopping, app, () => signals > 1)
        },
        () => {
          // The start was aborted, or failed before that.
          note().remove()
          log().info('stopped')
          terminal.exit(0)
        },
      )
    } else if (signals === 2 && started !== undefined) {
      log().warn({ signal }, 'cutting off requests in flight')
      started.cutOff()
    } else if (signals === 2) {
      // An end in the middle would leave Postgres running.
      log().warn({ signal }, 'still cancelling the start; one more signal ends the process')
    } else {
      started?.kill?.()
      terminal.exit(1)
    }
  }
  const reload = (signal: string) => {
    if (signals > 0) return
    void starting().then(
      (server) => {
        if (signals > 0) return
        if (server.reload === undefined) log().error({ signal }, explainRestart(command))
        else server.reload()
      },
      () => undefined,
    )
  }
  for (const signal of ['SIGINT', 'SIGTERM']) terminal.on(signal, () => handle(signal))
  // A terminal sends it when it closes.
  const hasTerminal = terminal.stdin.isTTY === true || terminal.stdout.isTTY === true
  terminal.on('SIGHUP', () => (hasTerminal ? handle('SIGHUP') : reload('SIGHUP')))
  // `basalt reload` sends this one, which means the same with and without a terminal.
  terminal.on(reloadSignal, () => reload(reloadSignal))
}

async function stop(
  { terminal, beforeStop, log, note }: Stopping,
  server: Server,
  wasCutOff: () => boolean,
): Promise<void> {
  try {
    await beforeStop()
    await server.drain()
    await server.close()
    note().remove()
    log().info('stopped')
    terminal.exit(wasCutOff() ? 1 : 0)
  } catch (error) {
    log().error({ err: error }, 'failed to stop')
    terminal.exit(1)
  }
}
