import { type Logger, pino } from 'pino'
import type { Config } from './config/schema.ts'

/** Names that must never carry a value in a log line, wherever they occur. */
const secretPaths = ['password', 'token', 'refreshToken', 'secret', 'code', 'authorization'].flatMap(
  (name) => [name, `*.${name}`],
)

/** What of the configuration decides about lines on standard output. */
type Output = Pick<Config['logging'], 'level' | 'format' | 'requests'>

/** Puts what `auto` means in its place. */
export function resolveLogging<Logging extends Output>(config: Logging, isTerminal: boolean): Logging {
  const format = config.format === 'auto' ? (isTerminal ? 'pretty' : 'json') : config.format
  const requests = config.requests === 'auto' ? (format === 'pretty' ? 'all' : 'failed') : config.requests
  return { ...config, format, requests }
}

export async function createLogger(config: Output, isTerminal: boolean): Promise<Logger> {
  const options = {
    level: config.level,
    base: null,
    redact: { paths: secretPaths, censor: '[redacted]' },
    serializers: { err: describeError },
    formatters: { level: (label: string) => ({ level: label }) },
    timestamp: pino.stdTimeFunctions.isoTime,
  }
  // Written by the caller's thread: with those in flight on another one, the last lines before an exit come out of order.
  const output = pino.destination({ fd: 1, sync: true })
  if (resolveLogging(config, isTerminal).format === 'json') return pino(options, output)
  // Most servers write JSON, and are spared thirty modules.
  const { default: pretty } = await import('pino-pretty')
  const layout = { colorize: isTerminal, sync: true, translateTime: 'SYS:HH:MM:ss', ignore: 'pid,hostname' }
  return pino(options, pretty(layout))
}

/** The `code` of an error (`ECONNREFUSED`, `42P01`) is no secret, and tells the most. */
function describeError(error: Error): object {
  const { code, ...rest } = pino.stdSerializers.err(error)
  return code === undefined ? rest : { ...rest, errorCode: code }
}
