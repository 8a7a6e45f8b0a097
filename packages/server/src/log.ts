import { type Logger, pino } from 'pino'
import type { LoggingConfig } from './config/logging.ts'
import { createLogOutput } from './log-output.ts'

/** Names whose values must never appear in a log line, at any depth. */
const secretPaths = ['password', 'token', 'refreshToken', 'secret', 'code', 'authorization'].flatMap(
  (name) => [name, `*.${name}`],
)

/** Configuration keys that determine lines on standard output. */
type Output = Pick<LoggingConfig, 'level' | 'format' | 'requests'>

/** Replaces `auto` by its meaning. */
export function resolveLogging<Logging extends Output>(config: Logging, isTerminal: boolean): Logging {
  const format = config.format === 'auto' ? (isTerminal ? 'pretty' : 'json') : config.format
  const requests = config.requests === 'auto' ? (format === 'pretty' ? 'all' : 'failed') : config.requests
  return { ...config, format, requests }
}

/**
 * Creates a logger to standard output. A line that cannot be logged ends no server and fails no request. Lost
 * lines are counted in the log once it can be written again.
 *
 * @param report called when lines are lost, or will be
 * @param fields fields of every line
 */
export async function createLogger(
  config: Output,
  isTerminal: boolean,
  report: (problem: string) => void,
  fields: Readonly<Record<string, unknown>> | null = null,
): Promise<Logger> {
  const options = {
    level: config.level,
    base: fields,
    redact: { paths: secretPaths, censor: '[redacted]' },
    serializers: { err: describeError },
    formatters: { level: (label: string) => ({ level: label }) },
    timestamp: pino.stdTimeFunctions.isoTime,
  }
  const output = createLogOutput(report, (lines) =>
    log.warn({ lines }, 'lines were lost while the log could not be written'),
  )
  process.once('exit', output.flush)
  const { format } = resolveLogging(config, isTerminal)
  const layout = format === 'json' ? (line: string) => line : await prettyLayout(isTerminal)
  const log: Logger = pino(options, { write: (line: string) => output.write(layout(line)) })
  return log
}

async function prettyLayout(isTerminal: boolean): Promise<(line: string) => string> {
  // Most servers write JSON, and need not load thirty modules.
  const { prettyFactory } = await import('pino-pretty')
  return prettyFactory({ colorize: isTerminal, translateTime: 'SYS:HH:MM:ss', ignore: 'pid,hostname' })
}

/** Serializes an error. Its `code` (`ECONNREFUSED`, `42P01`) is no secret, and the most informative part. */
function describeError(error: Error): object {
  const { code, ...rest } = pino.stdSerializers.err(error)
  return code === undefined ? rest : { ...rest, errorCode: code }
}
