import type { Connection } from '../connection/connection.ts'
import { type Answer, subjectOf } from '../connection/message.ts'
import { ConnectionLost, PoolExhausted } from '../errors/failures.ts'
import type { GuardedMessage, SessionGuard } from '../session/guard.ts'
import type { Pool } from './pool.ts'

type IsAbandoned = (() => boolean) | undefined

/** A read that waits for its answer; it may be sent twice, the first answer counts. */
interface Read extends GuardedMessage {
  readonly subject: string | undefined
  readonly isAbandoned: IsAbandoned
  readonly since: number
  isSettled: boolean
}

/** Names what a connection works on. */
type Assign = (subject: string | undefined) => void

/** Reads that travel together at most. */
const groupLimit = 8
/** Reads travel together only while one takes less than this on average, the way to the database aside. */
const quickMs = 2
/** Weight of the newest group in the average. */
const averageWeight = 0.1
/** After so long behind a slow one, the way to the database aside, the rest of a group is sent again elsewhere. */
const overdueMs = 20
/** How often per acquire timeout we look for reads whose time is over. */
const looksPerTimeout = 10

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
  readonly #sessions: Pick<SessionGuard, 'sendEach'>
  #waiting: Read[] = []
  /** Connections that have been requested and not been assigned yet. */
  #requested = 0
  #gathering: NodeJS.Immediate | undefined
  #gatheredAt = 0
  #expiry: NodeJS.Timeout | undefined
  /** Average time of one read, in milliseconds; pessimistic until known. */
  #averageMs = quickMs

  constructor(pool: Pool, sessions: Pick<SessionGuard, 'sendEach'>) {
    this.#pool = pool
    this.#sessions = sessions
    pool.quotas.onCapacity(() => this.#requestConnections())
  }

  /** Runs the calls in one transaction. @throws StatementFailed, ConnectionLost, PoolExhausted */
  send(
    { calls, leavesState }: Pick<GuardedMessage, 'calls' | 'leavesState'>,
    isAbandoned: IsAbandoned,
  ): Promise<readonly Answer[]> {
    if (this.#waiting.length >= this.#pool.limits.waitingLimit) {
      return Promise.reject(new PoolExhausted('too many requests wait for the database'))
    }
    const subject = subjectOf(calls)
    return new Promise((receive, fail) => {
      this.#gather()
      this.#waiting.push({
        calls,
        leavesState,
        subject,
        isAbandoned,
        receive,
        fail,
        since: this.#gatheredAt,
        isSettled: false,
      })
    })
  }

  #gather(): void {
    if (this.#gathering !== undefined) return
    // Asking the time for each read would cost more than the rest of this.
    this.#gatheredAt = performance.now()
    this.#gathering = setImmediate(() => {
      this.#gathering = undefined
      this.#requestConnections()
      this.#expectExpiry()
    })
  }

  /** One for each group of the reads that are admitted; computed again whenever a connection took fewer than a group. */
  #requestConnections(): void {
    // One that is assigned at once takes its group off the queue.
    while (this.#requested < Math.ceil(this.#countReady() / this.#groupSize())) void this.#requestConnection()
  }

  #countReady(): number {
    const { quotas } = this.#pool
    if (!quotas.isAnyExhausted) return this.#waiting.length
    return this.#waiting.filter(({ subject }) => quotas.admits(subject)).length
  }

  #groupSize(): number {
    return this.#averageMs < quickMs ? groupLimit : 1
  }

  /** Waits for a connection and sends a group of what waits then on it. */
  async #requestConnection(): Promise<void> {
    this.#requested += 1
    const since = performance.now()
    let group: readonly Read[] = []
    try {
      await this.#pool.use({
        isAbandoned: () => group.length > 0 && group.every(isObsolete),
        run: (connection, assign) => {
          this.#requested -= 1
          group = this.#take(this.#groupSize(), assign)
          this.#requestConnections()
          return this.#sendGroup(connection, group, assign)
        },
      })
    } catch (error) {
      // Only waiting for a connection fails here.
      this.#requested -= 1
      // Each read has its own time to wait.
      if (error instanceof PoolExhausted) return
      this.#failWaiting((read) => read.since <= since, error)
      this.#requestConnections()
    }
  }

  #expectExpiry(): void {
    if (this.#expiry !== undefined || this.#waiting.length === 0) return
    this.#expiry = setTimeout(() => {
      this.#expiry = undefined
      const longest = performance.now() - this.#pool.limits.acquireTimeoutMs
      const error = new PoolExhausted('no database connection became free in time')
      this.#failWaiting((read) => read.since <= longest, error)
      this.#requestConnections()
      this.#expectExpiry()
    }, this.#pool.limits.acquireTimeoutMs / looksPerTimeout).unref()
  }

  #failWaiting(test: (read: Read) => boolean, error: unknown): void {
    const failing = this.#waiting.filter(test)
    this.#waiting = this.#waiting.filter((read) => !test(read))
    for (const read of failing) settle(read, 'fail', error)
  }

  /** Never throws: each read learns of its own failure. */
  async #sendGroup(connection: Connection, reads: readonly Read[], assign: Assign): Promise<void> {
    if (reads.length === 0) return
    const startedAt = performance.now()
    const { networkMs } = this.#pool
    const overdue =
      reads.length === 1 ? undefined : setTimeout(() => this.#sendAgain(reads), overdueMs + networkMs)
    await new Promise<void>((resolve) => {
      let open = reads.length
      const finish = (read: Read, outcome: 'receive' | 'fail', value: unknown): void => {
        settle(read, outcome, value)
        open -= 1
        if (open === 0) resolve()
        else assign(reads[reads.length - open]?.subject)
      }
      this.#sessions.sendEach(
        connection,
        reads.map((read) => ({
          calls: read.calls,
          leavesState: read.leavesState,
          receive: (answers) => finish(read, 'receive', answers),
          fail: (error) => finish(read, 'fail', error),
        })),
      )
    })
    clearTimeout(overdue)
    const workMs = Math.max(performance.now() - startedAt - networkMs, 0)
    this.#averageMs += averageWeight * (workMs / reads.length - this.#averageMs)
  }

  /** The first unanswered read is the slow one; those behind it have not begun. */
  #sendAgain(reads: readonly Read[]): void {
    const overdue = reads.filter(({ isSettled }) => !isSettled).slice(1)
    this.#waiting.push(...overdue)
    if (overdue.length > 0) this.#gather()
  }

  /** The oldest, without those whose subject has reached its quota, unless they share that of the first. */
  #take(limit: number, assign: Assign): Read[] {
    const taken: Read[] = []
    const deferred: Read[] = []
    while (taken.length < limit) {
      const read = this.#waiting.shift()
      if (read === undefined) break
      if (read.isSettled) continue
      if (read.isAbandoned?.() === true) {
        settle(read, 'fail', new ConnectionLost('the caller has disconnected'))
      } else if (this.#pool.quotas.admits(read.subject) || read.subject === taken[0]?.subject) {
        if (taken.length === 0) assign(read.subject)
        taken.push(read)
      } else {
        deferred.push(read)
      }
    }
    if (deferred.length > 0) this.#waiting.unshift(...deferred)
    return taken
  }
}

/** Answered elsewhere, or no caller waits for the answer. */
function isObsolete(read: Read): boolean {
  return read.isSettled || read.isAbandoned?.() === true
}

function settle(read: Read, outcome: 'receive' | 'fail', value: unknown): void {
  if (read.isSettled) return
  read.isSettled = true
  // The outcome says what the value is: answers, or an error.
  if (outcome === 'receive') read.receive(value as readonly Answer[])
  else read.fail(value)
}
