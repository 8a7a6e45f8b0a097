import { type Logger, pino } from 'pino'
import type { LoggingConfig } from './config/logging.ts'
import { createLogOutput } from './log-output.ts'

/** Names that must never carry a value in a log line, wherever they occur. */
const secretPaths = ['password', 'token', 'refreshToken', 'secret', 'code', 'authorization'].flatMap(
  (name) => [name, `*.${name}`],
)

/** What of the configuration decides about lines on standard output. */
type Output = Pick<LoggingConfig, 'level' | 'format' | 'requests'>

/** Puts what `auto` means in its place. */
export function resolveLogging<Logging extends Output>(config: Logging, isTerminal: boolean): Logging {
  const format = config.format === 'auto' ? (isTerminal ? 'pretty' : 'json') : config.format
  const requests = config.requests === 'auto' ? (format === 'pretty' ? 'all' : 'failed') : config.requests
  return { ...config, format, requests }
}

/**
 * Writes to standard output. What cannot be logged ends no server and fails no request; lines that got lost are counted in
 * the log once it can be written again.
 *
 * @param report says that lines get lost, or will
 */
export async function createLogger(
  config: Output,
  isTerminal: boolean,
  report: (problem: string) => void,
): Promise<Logger> {
  const options = {
    level: config.level,
    base: null,
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
  // Most servers write JSON, and are spared thirty modules.
  const { prettyFactory } = await import('pino-pretty')
  return prettyFactory({ colorize: isTerminal, translateTime: 'SYS:HH:MM:ss', ignore: 'pid,hostname' })
}

/** The `code` of an error (`ECONNREFUSED`, `42P01`) is no secret, and tells the most. */
function describeError(error: Error): object {
  const { code, ...rest } = pino.stdSerializers.err(error)
  return code === undefined ? rest : { ...rest, errorCode: code }
}
