import type { Connection } from './connection.ts'
import { ConnectionLost, PoolExhausted } from './failures.ts'
import type { Answer, Call, Receiver } from './message.ts'
import type { Pool } from './pool.ts'

type IsAbandoned = (() => boolean) | undefined

/** A read that waits for its answer; it may be sent twice, the first answer counts. */
interface Read extends Receiver {
  readonly calls: readonly Call[]
  readonly isAbandoned: IsAbandoned
  readonly since: number
  isSettled: boolean
}

/** Reads that travel together at most. */
const groupLimit = 8
/** Reads travel together only while one takes less than this on average. */
const quickMs = 2
/** Weight of the newest group in the average. */
const averageWeight = 0.1
/** After so long behind a slow one, the rest of a group is sent again elsewhere. */
const overdueMs = 20

/**
 * Sends reads; those that arrive in the same turn of the event loop, or queue for connections, travel several in
 * one packet. Postgres and Node then wake up once for all of them instead of once for each, which on a busy
 * machine is most of the work of a short read.
 *
 * A read never waits for long behind another one: groups form only while reads are quick, and the rest of a
 * group that gets stuck behind a slow read is sent again on another connection, which a read allows.
 */
export class ReadQueue {
  readonly #pool: Pool
  #waiting: Read[] = []
  /** Turns at a connection that have been asked for and not come yet. */
  #turns = 0
  #gathering: NodeJS.Immediate | undefined
  /** Average time of one read, in milliseconds; pessimistic until known. */
  #averageMs = quickMs

  constructor(pool: Pool) {
    this.#pool = pool
  }

  /** Runs the calls in one transaction. @throws StatementFailed, ConnectionLost, PoolExhausted */
  send(calls: readonly Call[], isAbandoned: IsAbandoned): Promise<readonly Answer[]> {
    if (this.#waiting.length >= this.#pool.waitingLimit) {
      return Promise.reject(new PoolExhausted('too many requests wait for the database'))
    }
    return new Promise((receive, fail) =>
      this.#enqueue({ calls, isAbandoned, receive, fail, since: performance.now(), isSettled: false }),
    )
  }

  #enqueue(read: Read): void {
    this.#waiting.push(read)
    this.#gathering ??= setImmediate(() => {
      this.#gathering = undefined
      this.#takeTurns()
    })
  }

  /** As many groups as those who wait make, each with a turn; again whenever a turn took fewer than it might. */
  #takeTurns(): void {
    const groups = Math.ceil(this.#waiting.length / this.#groupSize())
    for (let missing = groups - this.#turns; missing > 0; missing -= 1) void this.#takeTurn()
  }

  #groupSize(): number {
    return this.#averageMs < quickMs ? groupLimit : 1
  }

  /** Waits for a connection and sends on it those who wait then, whoever they are. */
  async #takeTurn(): Promise<void> {
    this.#turns += 1
    const since = performance.now()
    let group: readonly Read[] = []
    try {
      await this.#pool.use({
        isAbandoned: () => group.length > 0 && group.every(isUnwanted),
        run: (connection) => {
          this.#turns -= 1
          group = this.#take(this.#groupSize())
          this.#takeTurns()
          return this.#sendGroup(connection, group)
        },
      })
    } catch (error) {
      // Only waiting for a connection fails here, and it fails for all who have waited as long.
      this.#turns -= 1
      const [late, early] = partition(this.#waiting, (read) => read.since > since)
      this.#waiting = late
      for (const read of early) settle(read, 'fail', error)
      this.#takeTurns()
    }
  }

  /** Never throws: each read learns of its own failure. */
  async #sendGroup(connection: Connection, reads: readonly Read[]): Promise<void> {
    if (reads.length === 0) return
    const startedAt = performance.now()
    const overdue = reads.length === 1 ? undefined : setTimeout(() => this.#sendAgain(reads), overdueMs)
    await new Promise<void>((resolve) => {
      let open = reads.length
      const finish = (read: Read, outcome: 'receive' | 'fail', value: unknown): void => {
        settle(read, outcome, value)
        open -= 1
        if (open === 0) resolve()
      }
      connection.sendEach(
        reads.map((read) => ({
          calls: read.calls,
          receive: (answers) => finish(read, 'receive', answers),
          fail: (error) => finish(read, 'fail', error),
        })),
      )
    })
    clearTimeout(overdue)
    this.#averageMs += averageWeight * ((performance.now() - startedAt) / reads.length - this.#averageMs)
  }

  /** The first unanswered read is the slow one; those behind it have not begun. */
  #sendAgain(reads: readonly Read[]): void {
    for (const read of reads.filter(({ isSettled }) => !isSettled).slice(1)) this.#enqueue(read)
  }

  #take(limit: number): Read[] {
    const taken: Read[] = []
    while (taken.length < limit) {
      const read = this.#waiting.shift()
      if (read === undefined) break
      if (read.isSettled) continue
      if (read.isAbandoned?.() === true) settle(read, 'fail', new ConnectionLost('the caller has gone'))
      else taken.push(read)
    }
    return taken
  }
}

function partition<Value>(values: readonly Value[], test: (value: Value) => boolean): [Value[], Value[]] {
  return [values.filter(test), values.filter((value) => !test(value))]
}

/** Answered elsewhere, or nobody is there to hear the answer. */
function isUnwanted(read: Read): boolean {
  return read.isSettled || read.isAbandoned?.() === true
}

function settle(read: Read, outcome: 'receive' | 'fail', value: unknown): void {
  if (read.isSettled) return
  read.isSettled = true
  // The outcome says what the value is: answers, or an error.
  if (outcome === 'receive') read.receive(value as readonly Answer[])
  else read.fail(value)
}
