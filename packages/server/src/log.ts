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
    serializers: { err: describeError },
    formatters: { level: (label: string) => ({ level: label }) },
    timestamp: pino.stdTimeFunctions.isoTime,
  }
  const isPretty = config.format === 'pretty' || (config.format === 'auto' && isTerminal)
  return isPretty
    ? pino(options, pretty({ colorize: isTerminal, sync: true, ignore: 'pid,hostname' }))
    : pino(options)
}

/** The `code` of an error (`ECONNREFUSED`, `42P01`) is no secret, and tells the most. */
function describeError(error: Error): object {
  const { code, ...rest } = pino.stdSerializers.err(error)
  return code === undefined ? rest : { ...rest, errorCode: code }
}
