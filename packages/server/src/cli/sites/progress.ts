import type { Terminal } from '../context.ts'
import { formatBytes } from '../table.ts'

/**
 * Progress of a deploy: a bar on a terminal, a line per step elsewhere, such as in the log of a build server.
 */
export interface Progress {
  step(text: string): void
  /** Counts another file of the step. */
  advance(bytes: number): void
  /** Finishes the output before anything else is written. */
  finish(): void
}

const width = 30

export function createProgress(output: Terminal['stderr'], count: number): Progress {
  let done = 0
  let sent = 0
  let shown = ''
  const draw = () => {
    const filled = Math.round((width * done) / count)
    const bar = `[${'#'.repeat(filled)}${' '.repeat(width - filled)}] ${done}/${count} files`
    if (bar === shown) return
    shown = bar
    output.write(`\r${bar}, ${formatBytes(sent)}\u001b[K`)
  }
  return {
    step(text) {
      output.write(`${text}\n`)
    },
    advance(bytes) {
      done += 1
      sent += bytes
      if (output.isTTY) draw()
    },
    finish() {
      if (shown !== '') output.write('\n')
      shown = ''
    },
  }
}
