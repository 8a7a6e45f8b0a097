import { type DestinationStream, pino } from 'pino'
import { codeOf, messageOf } from './lib/errors.ts'

/** Maximum number of waiting characters while standard output accepts none. */
const waitingLimit = 4 * 1024 * 1024
const retryMs = 100
/** Maximum time that the end of the process waits for a reader. */
const flushMs = 1000

export interface LogOutput extends DestinationStream {
  /** Writes waiting lines before the process ends. */
  flush(): void
}

/**
 * Creates a writer of lines to standard output. Neither a full disk nor a stalled reader blocks it. Lines wait,
 * and those beyond the limit are lost. After a reader has closed its end, all further lines are lost.
 *
 * @param report called when lines are lost, or will be
 * @param onRecovery called with the number of lost lines, when all others are written
 */
export function createLogOutput(
  report: (problem: string) => void,
  onRecovery: (lost: number) => void,
): LogOutput {
  // Lines are written by the caller's thread: with those in flight on another one, the last lines before an
  // exit would be out of order.
  const output = pino.destination({ fd: 1, sync: true, retryEAGAIN: () => false })
  let state: 'open' | 'failing' | 'closed' = 'open'
  let problem: Error | undefined
  let hasReported = false
  let waiting = 0
  let lost = 0
  let isRetrying = false

  output.on('error', (error: Error) => {
    problem = error
    if (codeOf(error) === 'EPIPE') state = 'closed'
    if (state === 'closed') return
    if (state === 'open') output.once('drain', recover)
    state = 'failing'
    // A pipe is full for a moment whenever its reader is slower.
    if (codeOf(error) !== 'EAGAIN') reportOnce()
    if (!isRetrying) setTimeout(retry, retryMs).unref()
    isRetrying = true
  })

  function reportOnce(): void {
    if (hasReported) return
    hasReported = true
    report(`cannot write the log to standard output: ${messageOf(problem)}`)
  }

  function retry(): void {
    isRetrying = false
    output.write('')
  }

  function recover(): void {
    const lines = lost
    state = 'open'
    hasReported = false
    waiting = 0
    lost = 0
    if (lines > 0) onRecovery(lines)
  }

  function hold(line: string): void {
    if (waiting + line.length > waitingLimit) {
      lost += 1
      reportOnce()
      return
    }
    waiting += line.length
    output.write(line)
  }

  return {
    write(line) {
      if (state === 'open') output.write(line)
      else if (state === 'failing') hold(line)
    },
    flush() {
      const deadline = performance.now() + flushMs
      while (state === 'failing' && performance.now() < deadline) {
        problem = undefined
        output.write('')
        if (problem === undefined) recover()
        else if (codeOf(problem) !== 'EAGAIN') return
        else Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10)
      }
    },
  }
}
