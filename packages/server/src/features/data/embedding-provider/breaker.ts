import type { Timer } from '../../../lib/timer.ts'

export interface BreakerOptions {
  /** Number of consecutive failures that open it. */
  readonly failureThreshold: number
  readonly openSeconds: number
  /** Maximum number of concurrent requests while it is half open. */
  readonly probeLimit: number
}

type State =
  | { readonly kind: 'closed'; readonly failures: number }
  | { readonly kind: 'open'; readonly until: number }
  | { readonly kind: 'half-open'; readonly probes: number }

/** Permit of a request, which reports its end once. */
export interface Permit {
  succeeded(): void
  failed(): void
  /** Reports neither: the request was canceled, or failed for a reason of its own. */
  released(): void
}

/**
 * Circuit breaker of one provider on this node. Closed, it counts consecutive failures. Open, it lets nothing through
 * for a while. Half open, it lets a few requests through, and their first result decides.
 */
export class Breaker {
  readonly #options: BreakerOptions
  readonly #timer: Pick<Timer, 'now'>
  #state: State = { kind: 'closed', failures: 0 }
  /** Number of the state. Results of requests from before its latest change are outdated. */
  #epoch = 0

  constructor(options: BreakerOptions, timer: Pick<Timer, 'now'>) {
    this.#options = options
    this.#timer = timer
  }

  /** Returns a permit; undefined when the request must not be made. */
  enter(): Permit | undefined {
    const now = this.#timer.now()
    if (this.#state.kind === 'open' && now >= this.#state.until) this.#move({ kind: 'half-open', probes: 0 })
    if (this.#state.kind === 'open') return undefined
    if (this.#state.kind === 'half-open') {
      if (this.#state.probes >= this.#options.probeLimit) return undefined
      this.#state = { kind: 'half-open', probes: this.#state.probes + 1 }
    }
    const epoch = this.#epoch
    const report = (next: () => void) => () => {
      if (epoch === this.#epoch) next()
    }
    return {
      succeeded: report(() => this.#succeed()),
      failed: report(() => this.#fail()),
      released: report(() => this.#release()),
    }
  }

  /** Returns the state. It is `half-open` from the moment at which a request may probe the provider again. */
  get state(): State['kind'] {
    if (this.#state.kind !== 'open') return this.#state.kind
    return this.#timer.now() >= this.#state.until ? 'half-open' : 'open'
  }

  /** Returns the seconds until a request may be let through; 0 when one may at any moment. */
  get secondsClosedOff(): number {
    if (this.#state.kind !== 'open') return 0
    return Math.max(0, Math.ceil((this.#state.until - this.#timer.now()) / 1000))
  }

  #succeed(): void {
    if (this.#state.kind === 'half-open') this.#move({ kind: 'closed', failures: 0 })
    else this.#state = { kind: 'closed', failures: 0 }
  }

  #fail(): void {
    const failures = this.#state.kind === 'closed' ? this.#state.failures + 1 : this.#options.failureThreshold
    if (failures < this.#options.failureThreshold) {
      this.#state = { kind: 'closed', failures }
      return
    }
    this.#move({ kind: 'open', until: this.#timer.now() + this.#options.openSeconds * 1000 })
  }

  #release(): void {
    if (this.#state.kind === 'half-open') this.#state = { kind: 'half-open', probes: this.#state.probes - 1 }
  }

  #move(state: State): void {
    this.#state = state
    this.#epoch += 1
  }
}
