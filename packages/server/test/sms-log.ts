import { Writable } from 'node:stream'
import { type Logger, pino } from 'pino'

/** Makes a log that keeps its lines in the order of writing. */
export function recordingLog(): { readonly log: Logger; readonly lines: string[] } {
  const lines: string[] = []
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      lines.push(chunk.toString('utf8'))
      done()
    },
  })
  return { log: pino({ base: null, timestamp: false }, stream), lines }
}

export const silentLog: Logger = pino({ level: 'silent' })
