/** Limit of a worker's connections. */
export interface LimitMessage {
  readonly limit: number
  /** Number of the message among those to the worker. The worker returns it once it has no more connections. */
  readonly version: number
}

export interface LedgerOptions<Worker> {
  /** Connections that every worker has, whatever the others need. */
  readonly minimum: number
  /** Passes a limit on. Messages to a worker must arrive in order, unless it ends. */
  readonly send: (worker: Worker, message: LimitMessage) => void
}

export interface ConnectionPlan {
  /** Connections of the machine. */
  readonly total: number
  /** Number of workers for which the minimum is reserved. */
  readonly workers: number
}

/** Connections of a worker. */
interface Account {
  /** Connections that its work could use. */
  wanted: number
  /** Latest limit that it was sent. */
  limit: number
  version: number
  /** Connections that it may have: a higher limit applies at once, a lower one when the worker has confirmed it. */
  granted: number
}

/**
 * Ledger of the machine's connections. Idle workers have equal parts. A busy worker borrows the connections that others do
 * not use, and returns them when their owners need them.
 *
 * At any time, the connections granted and those of workers that were killed are no more than the total. A connection
 * is lent only after its owner has confirmed that it has closed it. So no lost message and no silent worker can
 * exceed the total: without a confirmation, a worker keeps its connections until its process has ended. Only during a
 * reload, the minimum of all its workers can be more than the total.
 */
export class ConnectionLedger<Worker> {
  readonly #options: LedgerOptions<Worker>
  readonly #accounts = new Map<Worker, Account>()
  /** Workers without connections, each with the function that receives its first limit. */
  readonly #waiting = new Map<Worker, (limit: number) => void>()
  #plan: ConnectionPlan
  /** Connections of ended workers that PostgreSQL may not have closed yet. */
  #closing = 0

  constructor(options: LedgerOptions<Worker>, plan: ConnectionPlan) {
    this.#options = options
    this.#plan = plan
  }

  /** Changes the plan. If it reserves more, workers return connections for it. */
  plan(plan: ConnectionPlan): void {
    if (plan.total === this.#plan.total && plan.workers === this.#plan.workers) return
    this.#plan = plan
    this.#rebalance()
  }

  /**
   * Adds a worker that starts.
   *
   * @param onAdded receives its first limit, as soon as other workers have returned connections for it
   */
  add(worker: Worker, onAdded: (limit: number) => void): void {
    this.#waiting.set(worker, onAdded)
    this.#rebalance()
  }

  /** Sets the connections that the work of a worker could use. */
  want(worker: Worker, wanted: number): void {
    const account = this.#accounts.get(worker)
    if (account === undefined || account.wanted === wanted) return
    account.wanted = wanted
    this.#rebalance()
  }

  /** Frees the connections above the limit of a message, which the worker has closed. */
  confirm(worker: Worker, version: number): void {
    const account = this.#accounts.get(worker)
    // A later message may have raised the limit in the meantime.
    if (account?.version !== version) return
    account.granted = account.limit
    this.#rebalance()
  }

  /**
   * Removes a worker whose process has ended. Its successor gets the minimum at once.
   *
   * @returns the other connections, which are lent after {@link settle}
   */
  remove(worker: Worker): number {
    this.#waiting.delete(worker)
    const account = this.#accounts.get(worker)
    if (account === undefined) return 0
    const reservedBefore = this.#reserve()
    this.#accounts.delete(worker)
    const closing = account.granted - (this.#reserve() - reservedBefore)
    this.#closing += closing
    this.#rebalance()
    return closing
  }

  /** Lends connections of an ended worker, which PostgreSQL has closed. */
  settle(closing: number): void {
    this.#closing -= closing
    this.#rebalance()
  }

  /** Returns the connections that are neither granted nor reserved. */
  #free(): number {
    const granted = [...this.#accounts.values()].reduce((sum, account) => sum + account.granted, 0)
    return this.#total() - this.#closing - granted - this.#reserve()
  }

  /** Returns the connections of the machine, or those of the planned workers if these are more. */
  #total(): number {
    return Math.max(this.#plan.total, this.#plan.workers * this.#options.minimum)
  }

  /** Returns the connections of the workers that are still to be added. */
  #reserve(): number {
    return Math.max(0, this.#plan.workers - this.#accounts.size) * this.#options.minimum
  }

  /** Computes the part of each worker. Workers still to be added count as idle. */
  #parts(): Map<Worker, number> {
    const { minimum } = this.#options
    const total = this.#total()
    const count = Math.max(this.#plan.workers, this.#accounts.size)
    const wanted = Array<number>(count).fill(minimum)
    for (const [index, account] of [...this.#accounts.values()].entries()) {
      wanted[index] = Math.min(Math.max(account.wanted, minimum), total)
    }
    const parts = divide(wanted, total - this.#closing)
    return new Map(
      [...this.#accounts.keys()].map((worker, index) => [worker, Math.max(parts[index] ?? 0, minimum)]),
    )
  }

  #rebalance(): void {
    for (const [worker, part] of this.#parts()) this.#limit(worker, part, (limit) => part < limit)
    this.#admit()
    for (const [worker, part] of this.#parts()) {
      const { granted } = this.#accounts.get(worker) ?? { granted: 0 }
      const possible = Math.min(part, granted + Math.max(0, this.#free()))
      this.#limit(worker, possible, (limit) => possible > limit)
    }
  }

  /** Adds the workers that wait, as far as the minimum is available for them. */
  #admit(): void {
    const { minimum } = this.#options
    for (const [worker, onAdded] of this.#waiting) {
      if (this.#free() + this.#reserve() < minimum) return
      this.#waiting.delete(worker)
      const account = { wanted: 0, limit: 0, version: 0, granted: 0 }
      this.#accounts.set(worker, account)
      const limit = Math.max(minimum, Math.min(this.#free(), this.#parts().get(worker) ?? 0))
      account.limit = account.granted = limit
      onAdded(limit)
    }
  }

  #limit(worker: Worker, limit: number, isChange: (current: number) => boolean): void {
    const account = this.#accounts.get(worker)
    if (account === undefined || !isChange(account.limit)) return
    account.limit = limit
    account.version += 1
    account.granted = Math.max(account.granted, limit)
    this.#options.send(worker, { limit, version: account.version })
  }
}

/**
 * Divides connections so that the smallest part is as large as possible. If there are too few, no part is
 * larger than wanted. Otherwise each is at least as large as wanted, and the rest evens out the parts.
 */
export function divide(wanted: readonly number[], available: number): number[] {
  const isScarce = sum(wanted) > available
  const partsAt = (level: number) =>
    wanted.map((each) => (isScarce ? Math.min(each, level) : Math.max(each, level)))
  let [level, tooHigh] = [0, available + 1]
  while (tooHigh - level > 1) {
    const middle = Math.floor((level + tooHigh) / 2)
    if (sum(partsAt(middle)) <= available) level = middle
    else tooHigh = middle
  }
  const parts = partsAt(level)
  const next = partsAt(level + 1)
  let rest = available - sum(parts)
  return parts.map((part, index) => {
    if (rest <= 0 || (next[index] ?? 0) === part) return part
    rest -= 1
    return part + 1
  })
}

function sum(numbers: readonly number[]): number {
  return numbers.reduce((total, each) => total + each, 0)
}
