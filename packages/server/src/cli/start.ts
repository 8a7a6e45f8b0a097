import { Command } from 'commander'
import type { Logger } from 'pino'
import { type App, createApp } from '../app.ts'
import { createLogger } from '../log.ts'
import { announce } from './announcement.ts'
import { loadCommandConfig, type Terminal, withConfigFlags } from './context.ts'

export function startCommand(terminal: Terminal): Command {
  const command = new Command('start').description(
    'start the server, and the embedded PostgreSQL unless database.url is set',
  )
  return withConfigFlags(command).action(async () => {
    const { config } = loadCommandConfig(terminal, command)
    const isTerminal = terminal.stdout.isTTY === true
    const log = createLogger(config.logging, isTerminal)
    const startedAt = performance.now()
    const app = await createApp({ config, log })
    try {
      await app.listen()
    } catch (error) {
      await app.close()
      throw error
    }
    stopOnSignals(terminal, app, log)
    announce({ terminal, app, config, log, startupMs: performance.now() - startedAt })
  })
}

/** One Ctrl-C can arrive several times: from the terminal, and from npm which passes it on. */
const sameSignalMs = 2000

/** The first signal stops in order, answering what is under way; one more after a while stops at once. */
function stopOnSignals(terminal: Terminal, app: App, log: Logger): void {
  let stoppingSince: number | undefined
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) {
    terminal.on(signal, async () => {
      if (stoppingSince !== undefined) {
        if (performance.now() - stoppingSince > sameSignalMs) terminal.exit(1)
        return
      }
      stoppingSince = performance.now()
      log.info({ signal }, 'stopping')
      try {
        await app.close()
        log.info('stopped')
        terminal.exit(0)
      } catch (error) {
        log.error({ err: error }, 'stopping failed')
        terminal.exit(1)
      }
    })
  }
}
