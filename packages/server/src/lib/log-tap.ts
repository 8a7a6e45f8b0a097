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

function redirect(log: Logger, write: (line: string, stream: LineStream) => void): Logger {
  const redirected = log.child({})
  // The stream is a documented symbol of the logger that its types do not list.
  const streams = redirected as unknown as Record<symbol, LineStream>
  const stream = streams[symbols.streamSym]
  if (stream === undefined) throw new Error('the logger has no stream')
  streams[symbols.streamSym] = { write: (line) => write(line, stream) }
  return redirected
}
