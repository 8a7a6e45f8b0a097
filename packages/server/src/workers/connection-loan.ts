import { fewestConnections } from '../config/workers.ts'
import type { ConnectionBudget } from '../database/pool/connection-budget.ts'
import { ConnectionDemand } from './connection-demand.ts'
import type { LimitMessage } from './connections.ts'

/** Interval of the samples while a worker needs more than the minimum; an idle worker takes none. */
const sampleMs = 50

type Budget = Pick<ConnectionBudget, 'isExceeded' | 'wanted' | 'resize' | 'whenFull' | 'whenClosed'>

export interface LoanMessages {
  /** Reports the connections that this worker could use. */
  want(wanted: number): void
  /** Confirms that this worker has no more connections than the limit of that message. */
  confirm(version: number): void
}

/** Connections of a worker: it follows the limits of the parent, and reports its demand. */
export class ConnectionLoan {
  readonly #messages: LoanMessages
  #budget: Budget | undefined
  /** Latest message with a limit that is not confirmed yet. */
  #pending: LimitMessage | undefined
  #timer: NodeJS.Timeout | undefined
  #reported = 0

  constructor(messages: LoanMessages) {
    this.#messages = messages
  }

  /** Limits a budget from now on; the pools are opened after the first messages may have arrived. */
  attach(budget: Budget): void {
    this.#budget = budget
    budget.whenFull(() => this.#watch())
    budget.whenClosed(() => this.#confirm())
    this.#apply()
  }

  receive(message: LimitMessage): void {
    this.#pending = message
    this.#apply()
  }

  #apply(): void {
    if (this.#pending === undefined || this.#budget === undefined) return
    this.#budget.resize(this.#pending.limit)
    this.#confirm()
  }

  #confirm(): void {
    if (this.#pending === undefined || this.#budget === undefined) return
    if (this.#budget.isExceeded) return
    this.#messages.confirm(this.#pending.version)
    this.#pending = undefined
  }

  /** Reports the demand as it changes, until it is no more than the minimum. */
  #watch(): void {
    if (this.#timer !== undefined) return
    const demand = new ConnectionDemand()
    this.#timer = setInterval(() => {
      const wanted = demand.add(this.#budget?.wanted ?? 0)
      if (wanted > fewestConnections || !demand.isKnown) {
        this.#report(wanted)
      } else {
        clearInterval(this.#timer)
        this.#timer = undefined
        this.#report(0)
      }
    }, sampleMs)
    this.#timer.unref()
  }

  #report(wanted: number): void {
    if (wanted === this.#reported) return
    this.#reported = wanted
    this.#messages.want(wanted)
  }
}
