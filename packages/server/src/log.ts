import { type Logger, pino } from 'pino'
import pretty from 'pino-pretty'
import type { Config } from './config/schema.ts'

/** Names that must never carry a value in a log line, wherever they occur. */
const secretPaths = ['password', 'token', 'refreshToken', 'secret', 'code', 'authorization'].flatMap(
  (name) => [name, `*.${name}`],
)

export function createLogger(config: Config['logging'], isTerminal: boolean): Logger {
  const options = {
    level: config.level,
    base: null,
    redact: { paths: secretPaths, censor: '[redacted]' },
    formatters: { level: (label: string) => ({ level: label }) },
    timestamp: pino.stdTimeFunctions.isoTime,
  }
  const isPretty = config.format === 'pretty' || (config.format === 'auto' && isTerminal)
  return isPretty
    ? pino(options, pretty({ colorize: isTerminal, sync: true, ignore: 'pid,hostname' }))
    : pino(options)
}
