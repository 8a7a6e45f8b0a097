import { messageOf } from '../../lib/errors.ts'
import type { CallerScope } from '../caller/caller-scope.ts'
import type { Step } from '../caller/caller-steps.ts'
import type { Connection } from '../connection/connection.ts'
import { type Answer, StatementFailed, statement } from '../connection/message.ts'
import { ConnectionLost } from '../errors/failures.ts'
import type { UserDatabase } from '../user-database.ts'
import { type LogPosition, laterOf, parseLogPosition } from './log-position.ts'
import { findMismatch, findReplicaState, type PrimaryState } from './replica-probe.ts'

/** Access to the data of a replica. */
export interface ReplicaAccess {
  readonly user: UserDatabase
  /** Opens a connection for statements of a request, beside the pools. @throws ConnectionLost */
  openFor(scope: CallerScope): Promise<Connection>
  /** Cancels the statement that runs on such a connection; never rejects. */
  cancel(connection: Connection): Promise<void>
  /** Fails all work of the pools at once. */
  disconnect(): void
  close(): Promise<void>
}

export interface ReplicaOptions {
  /** Address without the password. */
  readonly address: string
  /** Opens a connection that checks the state of the server. @throws ConnectionLost */
  readonly openChecks: () => Promise<Connection>
  /**
   * Tries the logins of requests and the context of callers.
   *
   * @throws ReplicaUnfit with the reason, ConnectionLost
   */
  readonly openAccess: () => Promise<ReplicaAccess>
}

/** Thrown when a server does not fulfil the conditions of a replica. */
export class ReplicaUnfit extends Error {
  override readonly name = 'ReplicaUnfit'
}

/** Step before a read, in its transaction. It returns the position that the server has replayed before the read's snapshot. */
const receipt: Step = {
  statement: statement('select pg_catalog.pg_last_wal_replay_lsn(), pg_catalog.pg_is_in_recovery()'),
  values: [],
}

/** Result of a read with the position that the replica had replayed before it. */
export interface ReplicaAnswer {
  readonly answers: readonly Answer[]
  /** Undefined for a server that is not a standby any more. */
  readonly replayed: LogPosition | undefined
}

/** Time limit of one check. */
const checkTimeoutMs = 3000
/** Time between two attempts to log in. */
const accessAgainMs = 5000
/** Time between two queries of the position, while reads wait for it. */
const pollMs = 2
/** Time without another wait after one that was in vain. */
const waitAgainMs = 1000

/** Read replica: a hot standby of the primary. It serves reads while it is in the rotation. */
export class Replica {
  readonly address: string
  readonly #options: ReplicaOptions
  #access: ReplicaAccess | undefined
  #accessTriedAt = Number.NEGATIVE_INFINITY
  #checks: Connection | undefined
  #refusal: string | undefined = 'it has not been checked yet'
  #replayed: LogPosition = 0n
  #polling: Promise<void> | undefined
  #waitedInVainAt = Number.NEGATIVE_INFINITY
  readonly #listeners: (() => void)[] = []
  #isClosed = false

  constructor(options: ReplicaOptions) {
    this.#options = options
    this.address = options.address
  }

  /** Reason for which it is not in the rotation; undefined while it is. */
  get refusal(): string | undefined {
    return this.#refusal
  }

  /** Position that it has replayed at least. */
  get replayed(): LogPosition {
    return this.#replayed
  }

  /** Adds a listener that is called when {@link refusal} changes. */
  onChange(listener: () => void): void {
    this.#listeners.push(listener)
  }

  /**
   * Checks the server, and logs in for requests once it fulfils the conditions. Never rejects.
   *
   * @param judge returns the reason for which its data is too old; undefined if it is current
   */
  async check(primary: PrimaryState, judge: (replayed: LogPosition) => string | undefined): Promise<void> {
    const timer = setTimeout(() => this.#checks?.destroy(), checkTimeoutMs)
    try {
      this.#refuse(await this.#judge(primary, judge))
    } catch (error) {
      this.#checks?.destroy()
      this.#checks = undefined
      this.#refuse(error instanceof ReplicaUnfit ? error.message : describeFailure(error))
    } finally {
      clearTimeout(timer)
    }
  }

  /** Takes it out of the rotation until the next successful check. */
  suspend(reason: string): void {
    this.#refuse(reason)
  }

  /**
   * Runs a read.
   *
   * @throws StatementFailed with the index of the failing step, ConnectionLost, PoolExhausted
   */
  async read(
    scope: CallerScope,
    steps: readonly Step[],
    { isReadOnly, isAbandoned }: { readonly isReadOnly?: boolean; readonly isAbandoned?: () => boolean },
  ): Promise<ReplicaAnswer> {
    const options = {
      isRead: true,
      hasAlternative: true,
      ...(isReadOnly === undefined ? {} : { isReadOnly }),
      ...(isAbandoned === undefined ? {} : { isAbandoned }),
    }
    try {
      const [found, ...answers] = await this.#required.user.run(scope, [receipt, ...steps], options)
      return { answers, replayed: this.#read(found) }
    } catch (error) {
      if (!(error instanceof StatementFailed)) throw error
      throw new StatementFailed(error.error, Math.max(0, error.index - 1))
    }
  }

  /** Opens a connection for a read that outlasts a request. @throws ConnectionLost */
  openFor(scope: CallerScope): Promise<Connection> {
    return this.#required.openFor(scope)
  }

  /**
   * Begins a transaction of the caller on such a connection.
   *
   * @returns the statements that commit it, and the replayed position of its server
   */
  async begin(
    connection: Connection,
    scope: CallerScope,
    timeoutMs: number,
  ): Promise<Pick<ReplicaAnswer, 'replayed'> & { readonly ending: string }> {
    const ending = await this.#required.user.begin(connection, scope, timeoutMs)
    const [found] = await connection.send([receipt])
    return { ending, replayed: this.#read(found) }
  }

  async cancel(connection: Connection): Promise<void> {
    await this.#access?.cancel(connection)
  }

  /**
   * Waits until it has replayed the position. After a wait in vain it waits no more for a while, because it lags.
   *
   * @returns false when the time limit was reached first
   */
  async reaches(position: LogPosition, timeoutMs: number): Promise<boolean> {
    const deadline = performance.now() + timeoutMs
    if (this.#replayed >= position) return true
    if (performance.now() - this.#waitedInVainAt < waitAgainMs) return false
    for (;;) {
      const expired = new Promise<void>((resolve) => {
        setTimeout(resolve, Math.max(0, deadline - performance.now()))
      })
      await Promise.race([this.#poll(), expired])
      if (this.#replayed >= position) return true
      if (this.#refusal !== undefined) return false
      if (performance.now() >= deadline) {
        this.#waitedInVainAt = performance.now()
        return false
      }
    }
  }

  disconnect(): void {
    this.#access?.disconnect()
    this.#checks?.destroy()
  }

  async close(): Promise<void> {
    this.#isClosed = true
    this.#refuse('the server is stopping')
    await Promise.all([this.#access?.close(), this.#checks?.close()])
  }

  get #required(): ReplicaAccess {
    if (this.#access === undefined) throw new Error('the replica is not in the rotation')
    return this.#access
  }

  async #judge(
    primary: PrimaryState,
    judge: (replayed: LogPosition) => string | undefined,
  ): Promise<string | undefined> {
    if (this.#checks?.isOpen !== true) this.#checks = await this.#options.openChecks()
    const state = await findReplicaState(this.#checks)
    const mismatch = findMismatch(state, primary)
    if (mismatch !== undefined) return mismatch.reason
    const replayed = state.replayed ?? 0n
    this.#replayed = replayed
    const staleness = judge(replayed)
    if (staleness !== undefined) return staleness
    if (this.#access !== undefined) return undefined
    const now = performance.now()
    if (now - this.#accessTriedAt < accessAgainMs) return this.#refusal
    this.#accessTriedAt = now
    const access = await this.#options.openAccess()
    if (this.#isClosed) await access.close()
    else this.#access = access
    return undefined
  }

  #refuse(reason: string | undefined): void {
    const next = this.#isClosed ? 'the server is stopping' : reason
    if (next === this.#refusal) return
    this.#refusal = next
    if (!this.#isClosed) for (const listener of this.#listeners) listener()
  }

  /** Reads a receipt. */
  #read(answer: Answer | undefined): LogPosition | undefined {
    const [position, isStandby] = answer?.rows[0] ?? []
    const replayed = parseLogPosition(position ?? '')
    if (isStandby !== 't' || replayed === undefined) return undefined
    this.#replayed = laterOf(this.#replayed, replayed)
    return replayed
  }

  /** Queries the position once for all waiting reads. Never rejects. */
  #poll(): Promise<void> {
    this.#polling ??= this.#queryPosition().finally(() => {
      this.#polling = undefined
    })
    return this.#polling
  }

  async #queryPosition(): Promise<void> {
    try {
      const [found] = (await this.#checks?.send([receipt])) ?? []
      if (found === undefined || this.#read(found) === undefined) this.#refuse('it is not a standby any more')
    } catch {
      this.#refuse('its connection broke')
    }
    await new Promise((resolve) => setTimeout(resolve, pollMs))
  }
}

/** Returns the reason in a failure to reach a server. */
function describeFailure(error: unknown): string {
  const cause = error instanceof ConnectionLost ? error.cause : error
  return messageOf(cause instanceof AggregateError ? cause.errors[0] : cause)
}
