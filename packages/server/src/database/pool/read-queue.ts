import { performance } from 'node:perf_hooks'
import type { Connection } from '../connection/connection.ts'
import { type Answer, subjectOf } from '../connection/message.ts'
import { ConnectionLost, PoolExhausted } from '../errors/failures.ts'
import type { GuardedMessage, SessionGuard } from '../session/guard.ts'
import { refusalOf } from './admission.ts'
import { Expiry } from './expiry.ts'
import type { Pool } from './pool.ts'
import { type QueueTicket, SubjectQueue, type WaitingEntry } from './subject-queue.ts'

type IsAbandoned = (() => boolean) | undefined

/** Read that waits for its result. It may be sent twice; the first result counts. */
interface Read extends GuardedMessage, WaitingEntry {
  readonly isAbandoned: IsAbandoned
  /** Present while it waits. */
  ticket: QueueTicket<Read> | undefined
  isSettled: boolean
}

/** Function that names the subject of a connection's work. */
type Assign = (subject: string | undefined) => void

/** Maximum number of reads in a group. */
const groupLimit = 8
/** Average time of a read, without the network, above which no groups form. */
const quickMs = 2
/** Weight of the newest group in the average. */
const averageWeight = 0.1
/**
 * Time after which the rest of a group is sent again on another connection, without the network. The group then
 * waits for a slow read.
 */
const overdueMs = 20

/**
 * Queue of reads. It groups those that arrive in the same turn of the event loop, or that wait for connections,
 * into one packet. Postgres and Node then wake up once per group instead of once per read, which on a loaded
 * machine is most of the work of a short read.
 *
 * A read never waits for long for another one. Groups form only while reads are quick. When a group waits for a
 * slow read, the rest of it is sent again on another connection, which is harmless for reads.
 */
export class ReadQueue {
  readonly #pool: Pool
  readonly #sessions: Pick<SessionGuard, 'isPooled' | 'sendEach'>
  readonly #waiting: SubjectQueue<Read>
  readonly #expiry: Expiry<Read>
  /** Connections that have been requested and not been assigned yet. */
  #requested = 0
  #gathering: NodeJS.Immediate | undefined
  #gatheredAt = 0
  /** Average time of one read, in milliseconds; pessimistic until known. */
  #averageMs = quickMs

  constructor(pool: Pool, sessions: Pick<SessionGuard, 'isPooled' | 'sendEach'>) {
    this.#pool = pool
    this.#sessions = sessions
    this.#waiting = new SubjectQueue(pool.quotas, {
      isMeasured: () => true,
      servedTogether: () => pool.limits.size * this.#groupSize(),
    })
    this.#expiry = new Expiry(this.#waiting, pool.limits, {
      fail: (read, error) => this.#settle(read, 'fail', error),
      onCheck: () => this.#requestConnections(),
    })
    pool.addQueue(() => Math.ceil(this.#waiting.blockedCount / this.#groupSize()))
    pool.quotas.onChange((subject) => {
      if (pool.quotas.admits(subject)) this.#requestConnections()
    })
  }

  /** Runs the calls in one transaction. @throws StatementFailed, ConnectionLost, PoolExhausted */
  send(
    { calls, leavesState }: Pick<GuardedMessage, 'calls' | 'leavesState'>,
    isAbandoned: IsAbandoned,
  ): Promise<readonly Answer[]> {
    const subject = subjectOf(calls)
    const refusal = refusalOf(this.#waiting, subject, this.#pool.limits)
    if (refusal !== undefined) return Promise.reject(refusal)
    return new Promise((receive, fail) => {
      this.#gather()
      this.#wait({
        calls,
        leavesState,
        subject,
        isAbandoned,
        receive,
        fail,
        since: this.#gatheredAt,
        ticket: undefined,
        isSettled: false,
      })
    })
  }

  #wait(read: Read): void {
    read.ticket = this.#waiting.push(read)
  }

  #gather(): void {
    if (this.#gathering !== undefined) return
    // Reading the clock for each read would cost more than the rest of this.
    this.#gatheredAt = performance.now()
    this.#gathering = setImmediate(() => {
      this.#gathering = undefined
      this.#requestConnections()
      this.#expiry.start()
    })
  }

  /**
   * Requests a connection for each group of admitted reads. It runs again whenever a connection took fewer than
   * a group.
   */
  #requestConnections(): void {
    // A connection that is assigned at once removes its group from the queue.
    while (this.#requested < Math.ceil(this.#waiting.readyCount / this.#groupSize()))
      void this.#requestConnection()
    if (this.#waiting.blockedCount > 0) this.#pool.reportBlocked()
  }

  #groupSize(): number {
    // A connection to a pooler sends one message at a time.
    if (this.#sessions.isPooled) return 1
    return this.#averageMs < quickMs ? groupLimit : 1
  }

  /** Waits for a connection and sends a group of the reads that wait at that time. */
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
      // Only the wait for a connection can fail here.
      this.#requested -= 1
      // Each read has its own time limit.
      if (error instanceof PoolExhausted) return
      for (const read of this.#waiting.removeWhere((each) => each.since <= since)) {
        this.#settle(read, 'fail', error)
      }
      this.#requestConnections()
    }
  }

  /** Sends a group. It never throws: each read gets its own failure. */
  async #sendGroup(connection: Connection, reads: readonly Read[], assign: Assign): Promise<void> {
    if (reads.length === 0) return
    const started = performance.eventLoopUtilization()
    const { networkMs } = this.#pool
    const overdue =
      reads.length === 1 ? undefined : setTimeout(() => this.#sendAgain(reads), overdueMs + networkMs)
    await new Promise<void>((resolve) => {
      let open = reads.length
      const finish = (read: Read, outcome: 'receive' | 'fail', value: unknown): void => {
        this.#settle(read, outcome, value)
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
    // While the event loop is loaded, results wait for it, however quick they were.
    const workMs = Math.max(performance.eventLoopUtilization(started).idle - networkMs, 0)
    this.#averageMs += averageWeight * (workMs / reads.length - this.#averageMs)
  }

  /**
   * Queues the rest of a group again. The first read without a result is the slow one; those after it have not
   * started.
   */
  #sendAgain(reads: readonly Read[]): void {
    const overdue = reads.filter(({ isSettled }) => !isSettled).slice(1)
    for (const read of overdue) if (read.ticket === undefined) this.#wait(read)
    if (overdue.length > 0) this.#gather()
  }

  /** Removes the oldest reads whose subjects are below their quotas, or equal that of the first. */
  #take(limit: number, assign: Assign): Read[] {
    const taken: Read[] = []
    const now = performance.now()
    while (taken.length < limit) {
      const read = this.#waiting.take(now, taken[0]?.subject)
      if (read === undefined) break
      read.ticket = undefined
      if (read.isAbandoned?.() === true) {
        this.#settle(read, 'fail', new ConnectionLost('the caller has disconnected'))
      } else if (this.#expiry.isLate(read, now)) {
        this.#settle(read, 'fail', this.#expiry.errorOf(read, now))
      } else {
        if (taken.length === 0) assign(read.subject)
        taken.push(read)
      }
    }
    return taken
  }

  #settle(read: Read, outcome: 'receive' | 'fail', value: unknown): void {
    if (read.isSettled) return
    read.isSettled = true
    if (read.ticket !== undefined) this.#waiting.remove(read.ticket)
    // The outcome determines the type of the value: results, or an error.
    if (outcome === 'receive') read.receive(value as readonly Answer[])
    else read.fail(value)
  }
}

/** Returns true if the read has its result, or no caller waits for it. */
function isObsolete(read: Read): boolean {
  return read.isSettled || read.isAbandoned?.() === true
}
