import { type DestinationStream, type Logger, pino } from 'pino'
import type { Config } from './config/schema.ts'
import { codeOf, messageOf } from './lib/errors.ts'

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

/**
 * Writes to standard output. What cannot be logged, as on a full disk, ends no server and fails no request: lines wait, those
 * beyond a MiB get lost, and the log says how many once it can be written again.
 *
 * @param report is called when it begins to fail
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
  const layout =
    resolveLogging(config, isTerminal).format === 'json' ? undefined : await prettyLayout(isTerminal)
  const onRecovery = (lines: number) =>
    log.warn({ lines }, 'lines were lost while the log could not be written')
  const output = createOutput(report, onRecovery)
  const log: Logger = pino(
    options,
    layout === undefined ? output : { write: (line: string) => output.write(layout(line)) },
  )
  return log
}

async function prettyLayout(isTerminal: boolean): Promise<(line: string) => string> {
  // Most servers write JSON, and are spared thirty modules.
  const { prettyFactory } = await import('pino-pretty')
  return prettyFactory({ colorize: isTerminal, translateTime: 'SYS:HH:MM:ss', ignore: 'pid,hostname' })
}

/** Characters of lines that wait while standard output takes none. */
const waitingLimit = 1024 * 1024

/** @param onRecovery gets the number of lines that were lost */
function createOutput(
  report: (problem: string) => void,
  onRecovery: (lost: number) => void,
): DestinationStream {
  // Written by the caller's thread: with those in flight on another one, the last lines before an exit come out of order.
  const output = pino.destination({ fd: 1, sync: true })
  let isFailing = false
  let waiting = 0
  let lost = 0
  output.on('error', (error) => {
    // A reader that stops reading is no failure.
    if (isFailing || codeOf(error) === 'EPIPE') return
    isFailing = true
    output.once('drain', recover)
    report(`cannot write the log to standard output: ${messageOf(error)}`)
  })
  /** All that was waiting is written. */
  const recover = () => {
    const lines = lost
    isFailing = false
    waiting = 0
    lost = 0
    if (lines > 0) onRecovery(lines)
  }
  return {
    write(line) {
      if (!isFailing) return void output.write(line)
      const hasRoom = waiting + line.length <= waitingLimit
      if (hasRoom) waiting += line.length
      else lost += 1
      // It tries again what waits, too.
      output.write(hasRoom ? line : '')
    },
  }
}

/** The `code` of an error (`ECONNREFUSED`, `42P01`) is no secret, and tells the most. */
function describeError(error: Error): object {
  const { code, ...rest } = pino.stdSerializers.err(error)
  return code === undefined ? rest : { ...rest, errorCode: code }
}
