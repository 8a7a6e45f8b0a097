import { type Logger, symbols } from 'pino'

interface LineStream {
  write(line: string): unknown
}

/** The same logger, which hands each line it writes to a listener as well: the JSON that comes out of the redaction. */
export function tapLog(log: Logger, onLine: (line: string) => void): Logger {
  const tapped = log.child({})
  // The stream is a documented symbol of the logger that its types do not list.
  const streams = tapped as unknown as Record<symbol, LineStream>
  const stream = streams[symbols.streamSym]
  if (stream === undefined) throw new Error('the logger has no stream')
  streams[symbols.streamSym] = {
    write(line) {
      stream.write(line)
      onLine(line)
    },
  }
  return tapped
}
