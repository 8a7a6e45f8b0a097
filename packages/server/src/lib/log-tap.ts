import { type Logger, symbols } from 'pino'

interface LineStream {
  write(line: string): unknown
}

/** Returns a logger that also passes each written line to a listener: the JSON after the redaction. */
export function tapLog(log: Logger, onLine: (line: string) => void): Logger {
  return redirect(log, (line, stream) => {
    stream.write(line)
    onLine(line)
  })
}

/** Returns a similar logger that passes its lines to a listener instead of writing them. */
export function divertLog(log: Logger, onLine: (line: string) => void): Logger {
  return redirect(log, onLine)
}

/** Writes a line of another process, which is complete. */
export function writeLine(log: Logger, line: string): void {
  streamOf(log).write(line)
}

function redirect(log: Logger, write: (line: string, stream: LineStream) => void): Logger {
  const redirected = log.child({})
  const stream = streamOf(redirected)
  streamsOf(redirected)[symbols.streamSym] = { write: (line) => write(line, stream) }
  return redirected
}

function streamOf(log: Logger): LineStream {
  const stream = streamsOf(log)[symbols.streamSym]
  if (stream === undefined) throw new Error('the logger has no stream')
  return stream
}

/** Returns the logger by its symbols. The stream is a documented one that its types do not list. */
function streamsOf(log: Logger): Record<symbol, LineStream> {
  return log as unknown as Record<symbol, LineStream>
}
