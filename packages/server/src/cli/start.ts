import { Command } from 'commander'
import type { Logger } from 'pino'
import { type App, createApp } from '../app.ts'
import type { Config } from '../config/schema.ts'
import { createLogger, resolveLogging } from '../log.ts'
import { announce } from './announcement.ts'
import { loadCommandConfig, type Terminal, withConfigFlags } from './context.ts'

export function startCommand(terminal: Terminal): Command {
  const command = new Command('start').description(
    'start the server, and the embedded PostgreSQL unless database.url is set',
  )
  return withConfigFlags(command).action(async () => {
    const { config: loaded } = loadCommandConfig(terminal, command)
    const isTerminal = terminal.stdout.isTTY === true
    const config = { ...loaded, logging: resolveLogging(loaded.logging, isTerminal) }
    const log = createLogger(config.logging, isTerminal)
    const startedAt = performance.now()
    // Before anything is begun that a signal must not leave half done.
    stopOnSignals(terminal, () => starting, log)
    const starting = startApp(config, log)
    announce({ terminal, app: await starting, config, log, startupMs: performance.now() - startedAt })
  })
}

async function startApp(config: Config, log: Logger): Promise<App> {
  const app = await createApp({ config, log })
  try {
    await app.listen()
    return app
  } catch (error) {
    await app.close()
    throw error
  }
}

/** One Ctrl-C can arrive several times: from the terminal, and from npm which passes it on. */
const sameSignalMs = 2000

/**
 * The first signal stops in order, answering what is under way, or finishing a start first. The next one, after a
 * while, cuts off requests under way; one more ends the process.
 */
function stopOnSignals(terminal: Terminal, starting: () => Promise<App>, log: Logger): void {
  let started: App | undefined
  let signals = 0
  let lastSignalAt = Number.NEGATIVE_INFINITY
  const handle = (signal: string) => {
    const isSame = performance.now() - lastSignalAt < sameSignalMs
    if (isSame) return
    lastSignalAt = performance.now()
    signals += 1
    if (signals === 1) {
      log.info({ signal }, 'stopping')
      starting().then(
        (app) => {
          started = app
          return stop(terminal, app, log, () => signals > 1)
        },
        // The command tells why the start failed.
        () => undefined,
      )
    } else if (signals === 2 && started !== undefined) {
      log.warn({ signal }, 'cutting off requests under way')
      started.cutOff()
    } else {
      terminal.exit(1)
    }
  }
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) terminal.on(signal, () => handle(signal))
}

async function stop(terminal: Terminal, app: App, log: Logger, wasCutOff: () => boolean): Promise<void> {
  try {
    await app.drain()
    await app.close()
    log.info('stopped')
    terminal.exit(wasCutOff() ? 1 : 0)
  } catch (error) {
    log.error({ err: error }, 'stopping failed')
    terminal.exit(1)
  }
}
