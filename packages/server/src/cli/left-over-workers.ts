import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import { isRunning, type NotedProcess } from './server-note.ts'

/** Time in which the workers of a killed server end by themselves. */
const graceMs = 5000
/** Time for the system to end a killed process. */
const killMs = 5000
const pollMs = 20

/**
 * Waits for the workers of a killed server, and kills those that do not end: their event loop is blocked, or they are
 * stopped by a signal. They would keep the port, and their locks in the database.
 */
export async function endLeftOverWorkers(
  workers: readonly NotedProcess[],
  { log, signal }: { readonly log: Logger; readonly signal: AbortSignal },
): Promise<void> {
  const remaining = await waitForEnds(workers, graceMs, signal)
  if (signal.aborted) return
  for (const { pid } of remaining) {
    try {
      process.kill(pid, 'SIGKILL')
      log.warn({ pid }, 'killed a worker of an earlier server, which has ended without stopping it')
    } catch (error) {
      // It has ended meanwhile, or belongs to another account. Then the port is refused.
      log.warn({ pid, err: error }, 'failed to kill a worker of an earlier server')
    }
  }
  await waitForEnds(remaining, killMs, signal)
}

/** Returns the processes that still run after this time. */
async function waitForEnds(
  processes: readonly NotedProcess[],
  timeMs: number,
  signal: AbortSignal,
): Promise<readonly NotedProcess[]> {
  const deadline = performance.now() + timeMs
  let remaining = processes.filter(isRunning)
  while (remaining.length > 0 && performance.now() < deadline && !signal.aborted) {
    await delay(pollMs)
    remaining = remaining.filter(isRunning)
  }
  return remaining
}
