import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Logger } from 'pino'

/** What is known of the newest build. */
export type BuildState =
  | { readonly kind: 'idle' }
  | { readonly kind: 'building' }
  | { readonly kind: 'failed'; readonly output: string; readonly failedAtMs: number }

/** Characters of what a failed build has written. */
const shownOutput = 4000

/** Builds the dashboard of a clone in a process of the lowest priority, beside the server. */
export class DashboardBuild {
  readonly #script: string
  #state: BuildState = { kind: 'idle' }
  #process: ChildProcess | undefined

  constructor(script: string) {
    this.#script = script
  }

  get state(): BuildState {
    return this.#state
  }

  start(log: Logger): void {
    if (this.#process !== undefined) return
    const startedAt = performance.now()
    const child = spawn(process.execPath, [this.#script, '--idle'], { stdio: ['ignore', 'pipe', 'pipe'] })
    this.#process = child
    let output = ''
    // Written only when there is something to build.
    child.stdout.once('data', () => {
      this.#state = { kind: 'building' }
      log.info('building the dashboard')
    })
    child.stdout.resume()
    child.stderr.on('data', (chunk) => {
      output = `${output}${chunk}`.slice(-shownOutput)
    })
    const end = (reason: string | undefined) => {
      const wasBuilding = this.#state.kind === 'building'
      this.#process = undefined
      this.#state =
        reason === undefined ? { kind: 'idle' } : { kind: 'failed', output: reason, failedAtMs: Date.now() }
      if (reason !== undefined) log.error({ reason }, 'failed to build the dashboard')
      else if (wasBuilding) {
        log.info({ durationMs: Math.round(performance.now() - startedAt) }, 'the dashboard is built')
      }
    }
    child.once('error', (error) => end(error.message))
    child.once('close', (code, signal) => {
      if (this.#process !== child) return
      // Ended by `stop`.
      end(code === 0 || signal !== null ? undefined : output.trim() || `exit code ${code}`)
    })
  }

  async stop(): Promise<void> {
    const child = this.#process
    if (child === undefined) return
    child.kill()
    await once(child, 'close')
  }
}
