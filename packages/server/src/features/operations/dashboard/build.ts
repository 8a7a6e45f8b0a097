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

/** Clone of the repository, whose builds are made here. */
export interface Clone {
  /** Folder of the builds. `scripts/build-dashboard.js` describes its content. */
  readonly builds: string
  /** Script that makes the builds. */
  readonly script: string
}

/** Maximum number of characters of a failed build's output. */
const outputLimit = 4000

/** Build of a clone's dashboard in a process of the lowest priority, in the background. */
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

  /** True if there is a build of these sources. After a failure, it was made by hand or by another server. */
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
    // The script writes output only when it builds.
    child.stdout.once('data', () => {
      this.#state = { kind: 'building' }
      log.info('building the dashboard')
    })
    child.stdout.resume()
    child.stderr.on('data', (chunk) => {
      output = `${output}${chunk}`.slice(-outputLimit)
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
      // `stop` has ended the process.
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
   * Returns the time in nanoseconds at which the newest build was published. Each build gets a new time. It can
   * only be compared with itself, because the clock of files lags behind `Date.now()`.
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
