import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { join } from 'node:path'
import type { Logger } from 'pino'

/** State of the newest build. */
export type BuildState =
  | { readonly kind: 'idle' }
  | { readonly kind: 'building' }
  | { readonly kind: 'failed'; readonly output: string; readonly newestBefore: bigint | undefined }

/** Origin of the builds of a clone. */
export interface Clone {
  /** The builds; `scripts/build-dashboard.js` says what is in it. */
  readonly builds: string
  /** Makes them. */
  readonly script: string
}

/** Characters of what a failed build has written. */
const shownOutput = 4000

/** Builds the dashboard of a clone in a process of the lowest priority, beside the server. */
export class DashboardBuild {
  readonly #clone: Clone
  #state: BuildState = { kind: 'idle' }
  #process: ChildProcess | undefined

  constructor(clone: Clone) {
    this.#clone = clone
  }

  get state(): BuildState {
    return this.#state
  }

  /** True if there is a build of these sources: after a failure, one made by hand or by another server. */
  get isUsable(): boolean {
    const state = this.#state
    return state.kind === 'idle' || (state.kind === 'failed' && this.#newest() !== state.newestBefore)
  }

  start(log: Logger): void {
    if (this.#process !== undefined) return
    const startedAt = performance.now()
    const newestBefore = this.#newest()
    const child = spawn(process.execPath, [this.#clone.script, '--idle'], {
      stdio: ['ignore', 'pipe', 'pipe'],
    })
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
      this.#state = reason === undefined ? { kind: 'idle' } : { kind: 'failed', output: reason, newestBefore }
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

  /**
   * Nanoseconds at which the newest build was published; each one gets a new time. To be compared with itself only: the
   * clock of files lags behind `Date.now()`.
   */
  #newest(): bigint | undefined {
    const current = join(this.#clone.builds, 'current')
    try {
      return statSync(current, { bigint: true }).mtimeNs
    } catch {
      return undefined
    }
  }
}
