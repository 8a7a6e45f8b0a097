import { setTimeout as delay } from 'node:timers/promises'
import { CallerContexts, type SizeCheck } from './caller/caller-context.ts'
import type { CallerScope, Origin } from './caller/caller-scope.ts'
import {
  answersOf,
  becomeLogin,
  buildMessage,
  locateFailure,
  roleOf,
  ServerStepFailed,
  type Step,
  type StepMessage,
} from './caller/caller-steps.ts'
import type { Connection } from './connection/connection.ts'
import { type Answer, begin, type Call, StatementFailed, statement, subjectOf } from './connection/message.ts'
import { ConnectionLost } from './errors/failures.ts'
import { isWorthAnotherAttempt } from './errors/retry.ts'
import { PlanCache, type PlannedSteps } from './plans/plan-cache.ts'
import type { Pool } from './pool/pool.ts'
import { ReadQueue } from './pool/read-queue.ts'
import type { SessionGuard } from './session/guard.ts'
import { checkConstraints, discardSequences, rollback } from './session/reset.ts'
import { observed, type StatementObserver } from './statement-observer.ts'

const refuseWrites: Call = {
  statement: statement("select set_config('transaction_read_only', 'on', true)"),
  values: [],
}
const changeSetting = statement('select set_config($1, $2, true)')

/** A transaction of a caller that takes several messages. */
export interface UserTransaction {
  /**
   * Runs the steps in one message, as the caller unless they say otherwise.
   *
   * @throws StatementFailed with the index of the failing step; the transaction continues from a savepoint
   */
  run(steps: readonly Step[]): Promise<readonly Answer[]>
  /** Runs a `copy … from stdin` as the login role. */
  copyAsLogin(command: string, source: AsyncIterable<Buffer>): Promise<void>
}

export interface TransactionOptions {
  readonly origin?: Origin | undefined
  /** Of the transaction, such as another `statement_timeout`. */
  readonly settings?: Readonly<Record<string, string>>
  /** Whether all of its statements see the same state of the database. */
  readonly isSnapshot?: boolean
  /** Exported by a transaction that is still open: its statements see the state that those of the other one see. */
  readonly snapshot?: string | undefined
}

const beginSnapshot: Call = { statement: statement('begin isolation level repeatable read'), values: [] }

/** The snapshot's transaction has ended. */
export class SnapshotUnavailable extends Error {}

async function adoptSnapshot(connection: Connection, snapshot: string): Promise<void> {
  if (!/^[\dA-F-]+$/i.test(snapshot)) throw new SnapshotUnavailable(`not a snapshot: ${snapshot}`)
  try {
    await connection.script(`begin isolation level repeatable read; set transaction snapshot '${snapshot}'`)
  } catch (cause) {
    if (cause instanceof ConnectionLost) throw cause
    throw new SnapshotUnavailable('the snapshot cannot be adopted', { cause })
  }
}

export interface RunOptions {
  /** Left in a setting of the transaction; undefined where nothing reads it. */
  readonly origin?: Origin | undefined
  /** Whether running the calls twice is harmless, so that a broken connection may be followed by one retry. */
  readonly isRead: boolean
  /** Whether PostgreSQL refuses to write, whatever functions do. */
  readonly isReadOnly?: boolean
  /** Whether the client has disconnected; its statement is then cancelled. */
  readonly isAbandoned?: () => boolean
  /**
   * Makes the last steps of what the others have answered. They follow in a second message of the same transaction,
   * which is undone when this throws.
   */
  readonly conclude?: ((answers: readonly Answer[]) => readonly Step[]) | undefined
}

/** Has every run undone, after the setup that its transaction begins with; for tests of policies. */
export interface Rehearsal {
  /** Runs in front of each run, by the role that the connection logs in as. */
  readonly setup: () => readonly Call[]
  /** Secret that the passwords of login roles are made of: other databases of the cluster have the same roles. */
  readonly loginSecret: string
}

/** Attempts to use a kept plan; then the statements are planned anew. */
const planAttempts = 4

/** The calls of a run, and how they are sent. */
interface RunMessage extends StepMessage {
  /** Undefined where no plan is kept. */
  readonly planned: PlannedSteps | undefined
  /** Index of the first call that classQueries for a class of the caller. */
  readonly classesAt: number
  /** True if its calls begin and end the transaction themselves. */
  readonly isBlock: boolean
  /** True if running them may leave something in the session. */
  readonly leavesState: boolean
}

/** Connections that log in as one role. */
export interface WayOptions {
  readonly pool: Pool
  /** Keeps what one run leaves in a session from the next. */
  readonly sessions: SessionGuard
  /** Settings each transaction makes for itself; empty where the connection carries them. */
  readonly transactionSettings: Readonly<Record<string, string>>
  /** True if a pooler shares their sessions, in which then nothing is prepared. */
  readonly isPooled: boolean
  /** True if they log in as the owner, for want of a role of their own. */
  readonly isOwner: boolean
}

export interface UserDatabaseOptions {
  /** For callers with and without a token. */
  readonly callers: WayOptions
  /** For what is under no policies; no connection serves both, unless both are the owner's. */
  readonly administrators: WayOptions
  /** Grants to administrators what was made since. @returns whether anything was missing */
  readonly repairGrants: () => Promise<boolean>
}

interface Way extends Pick<WayOptions, 'pool' | 'isOwner' | 'sessions'> {
  readonly reads: ReadQueue
  readonly contexts: CallerContexts
  /** Undefined where nothing is prepared. */
  readonly plans: PlanCache | undefined
}

function createWay({ pool, isOwner, isPooled, sessions, transactionSettings }: WayOptions): Way {
  const reads = new ReadQueue(pool, sessions)
  const contexts = new CallerContexts(transactionSettings)
  return { pool, isOwner, sessions, reads, contexts, plans: isPooled ? undefined : new PlanCache() }
}

/** Returns whether PostgreSQL says that a privilege is missing. */
function isDenied(error: unknown): boolean {
  const failure = error instanceof ServerStepFailed ? error.failure : error
  return failure instanceof StatementFailed && failure.error.code === '42501'
}

/**
 * The database as callers use it: every run is one message and one transaction that begins by taking on the
 * caller's role and claims, so there is no way past the policies and no extra round trip.
 */
export class UserDatabase {
  readonly #callers: Way
  readonly #administrators: Way
  readonly #rehearsal: Rehearsal | undefined
  readonly #repairGrants: () => Promise<boolean>
  #observe: StatementObserver | undefined

  constructor({ callers, administrators, repairGrants }: UserDatabaseOptions, rehearsal?: Rehearsal) {
    this.#callers = createWay(callers)
    this.#administrators = administrators === callers ? this.#callers : createWay(administrators)
    this.#repairGrants = repairGrants
    this.#rehearsal = rehearsal
  }

  /** Has every run observed. */
  observe(observer: StatementObserver): void {
    this.#observe = observer
  }

  get stats(): Pool['stats'] {
    if (this.#administrators === this.#callers) return this.#callers.pool.stats
    const [callers, administrators] = [this.#callers.pool.stats, this.#administrators.pool.stats]
    return {
      busy: callers.busy + administrators.busy,
      idle: callers.idle + administrators.idle,
      waiting: callers.waiting + administrators.waiting,
    }
  }

  /**
   * Runs the steps as the caller in one transaction and, unless it has to be concluded, one round trip.
   *
   * @throws StatementFailed with the index of the failing step
   * @throws ServerStepFailed, ConnectionLost, PoolExhausted
   */
  run(scope: CallerScope, steps: readonly Step[], options: RunOptions): Promise<readonly Answer[]> {
    const attempt = this.#runPlanned(scope, steps, options, 1)
    const running =
      scope.kind === 'unrestricted' && !this.#administrators.isOwner
        ? attempt.catch(async (error) => {
            if (!isDenied(error) || !(await this.#repairGrants())) throw error
            return await this.#runPlanned(scope, steps, options, 1)
          })
        : attempt
    return this.#observe === undefined
      ? running
      : observed(this.#observe, () => steps.map(({ statement }) => statement.text).join(';\n'), running)
  }

  /**
   * Runs the steps as the caller would have in the state of a snapshot: what was committed later is not seen.
   *
   * @param snapshot exported by a transaction that is still open
   * @throws SnapshotUnavailable, StatementFailed, ConnectionLost, PoolExhausted
   */
  async runAt(snapshot: string, scope: CallerScope, steps: readonly Step[]): Promise<readonly Answer[]> {
    const { pool, sessions, plans } = this.#wayOf(scope)
    const leavesState = sessions.mayLeaveState(steps)
    const fitting = plans?.planAnew(scope, steps) ?? steps
    const message = buildMessage(scope, fitting, this.#opening(scope, leavesState))
    const run = async (connection: Connection) => {
      await adoptSnapshot(connection, snapshot)
      const answers = await connection.send([...message.calls, ...sessions.ending(leavesState)])
      return answersOf(message, answers)
    }
    return await pool
      .use({
        subject: subjectOf(message.calls),
        run: (connection) =>
          sessions.runBlock(
            connection,
            () => leavesState,
            () => run(connection),
          ),
      })
      .catch((error) => {
        throw locateFailure(error, message)
      })
  }

  /**
   * Begins a transaction of the caller on a connection beside the pool, for work that takes longer than a request may.
   *
   * @param timeoutMs that each of its statements may take
   * @returns the statements that commit it
   * @throws ConnectionLost
   */
  async begin(connection: Connection, scope: CallerScope, timeoutMs: number): Promise<string> {
    await connection.script('begin')
    // In this order: behind a pooler the context has the timeout of requests.
    const timeout = {
      statement: changeSetting,
      values: ['statement_timeout', String(Math.round(timeoutMs))],
    }
    const { contexts, sessions } = this.#wayOf(scope)
    await connection.send([contexts.callFor(scope), timeout])
    return sessions.endingText
  }

  /**
   * Runs the work as the caller in a transaction of several messages: committed when it returns, rolled back when it
   * throws. For what takes longer than a request may, on a connection beside the pools.
   *
   * @throws what the work throws, StatementFailed, SnapshotUnavailable, ConnectionLost
   */
  async transaction<Result>(
    connection: Connection,
    scope: CallerScope,
    { origin, settings = {}, isSnapshot = false, snapshot }: TransactionOptions,
    work: (transaction: UserTransaction) => Promise<Result>,
  ): Promise<Result> {
    const { contexts, sessions, plans } = this.#wayOf(scope)
    const run = async (steps: readonly Step[]): Promise<readonly Answer[]> => {
      const message = buildMessage(scope, plans?.planAnew(scope, steps) ?? steps)
      try {
        const answers = await connection.send(message.calls)
        return answersOf(message, answers)
      } catch (error) {
        throw locateFailure(error, message)
      }
    }
    return await sessions.runBlock(connection, isAnything, async () => {
      const context = contexts.callFor(scope, origin)
      if (snapshot === undefined) await connection.send([isSnapshot ? beginSnapshot : begin, context])
      else {
        await adoptSnapshot(connection, snapshot)
        await connection.send([context])
      }
      for (const [name, value] of Object.entries(settings)) {
        await connection.send([{ statement: changeSetting, values: [name, value] }])
      }
      const result = await work({
        run,
        copyAsLogin: async (command, source) => {
          await connection.send([becomeLogin])
          await connection.copyIn(command, source)
          const role = roleOf(scope)
          if (role !== undefined) await connection.send([role])
        },
      })
      await connection.send(sessions.ending(true))
      return result
    })
  }

  #wayOf({ kind }: CallerScope): Way {
    return kind === 'unrestricted' ? this.#administrators : this.#callers
  }

  /** Runs the steps by kept plans, and again where PostgreSQL says that one does not fit. */
  #runPlanned(
    scope: CallerScope,
    steps: readonly Step[],
    options: RunOptions,
    planAttempt: number,
  ): Promise<readonly Answer[]> {
    const { conclude } = options
    const message = this.#assemble(scope, steps, options, planAttempt >= planAttempts)
    const send = conclude && (() => this.#sendConcluded(scope, message, conclude, options))
    const attempt = this.#attempt(scope, message, options, 1, send)
    if (message.planned === undefined) return attempt
    return attempt.catch(async (error) => {
      if (this.#wayOf(scope).plans?.learnFrom(scope, error) !== true) throw error
      return await this.#runPlanned(scope, steps, options, planAttempt + 1)
    })
  }

  #attempt(
    scope: CallerScope,
    message: RunMessage,
    options: RunOptions,
    attempt: number,
    send = () => this.#send(scope, message, options),
  ): Promise<readonly Answer[]> {
    return send().then(
      (answers) => {
        const { planned, classesAt } = message
        if (planned !== undefined && planned.classQueries.length > 0) {
          this.#wayOf(scope).plans?.learn(scope, planned, answers.slice(classesAt))
        }
        return answersOf(message, answers)
      },
      async (error) => {
        if (!isWorthAnotherAttempt(error, attempt, options)) throw locateFailure(error, message)
        // Transactions that collided must not do so again at once.
        if (!options.isRead || attempt > 1) await delay(Math.random() * 20 * attempt)
        return await this.#attempt(scope, message, options, attempt + 1, send)
      },
    )
  }

  #send(
    scope: CallerScope,
    message: RunMessage,
    { isRead, isAbandoned }: RunOptions,
  ): Promise<readonly Answer[]> {
    const { pool, reads, sessions } = this.#wayOf(scope)
    const { calls, leavesState, isBlock } = message
    if (isRead && !isBlock) return reads.send(message, isAbandoned)
    const run = isBlock
      ? (connection: Connection) =>
          sessions.runBlock(
            connection,
            () => leavesState,
            () => connection.send(calls),
          )
      : (connection: Connection) => sessions.send(connection, calls, leavesState)
    return pool.use({ run, subject: subjectOf(calls), isAbandoned })
  }

  async #sendConcluded(
    scope: CallerScope,
    { calls, steps, positions, ...message }: RunMessage,
    conclude: NonNullable<RunOptions['conclude']>,
    { isAbandoned }: RunOptions,
  ): Promise<readonly Answer[]> {
    const { pool, sessions } = this.#wayOf(scope)
    let { leavesState } = message
    const run = async (connection: Connection) => {
      const answers = await connection.send(calls)
      const last = conclude(answersOf({ positions }, answers))
      leavesState ||= sessions.mayLeaveState(last)
      const ending = sessions.ending(leavesState)
      await connection.send([...buildMessage(scope, last).calls, ...ending]).catch((error) => {
        // Of none of the steps, as a deferred constraint is that fails at the commit.
        throw error instanceof StatementFailed ? new StatementFailed(error.error, calls.length) : error
      })
      return answers
    }
    return await pool.use({
      run: (connection) =>
        sessions.runBlock(
          connection,
          () => leavesState,
          () => run(connection),
        ),
      subject: subjectOf(steps),
      isAbandoned,
    })
  }

  /** Puts the context before the steps, and what the transaction needs around both. */
  #assemble(
    scope: CallerScope,
    steps: readonly Step[],
    { origin, isRead, isReadOnly = false, conclude }: RunOptions,
    isPlannedAnew: boolean,
  ): RunMessage {
    const { sessions, plans } = this.#wayOf(scope)
    const leavesState = sessions.mayLeaveState(steps)
    const isBlock = conclude !== undefined || sessions.needsBlock(leavesState)
    const isKept = !isPlannedAnew && this.#rehearsal === undefined
    const planned = isKept ? plans?.plan(scope, steps, isRead && !isBlock) : undefined
    const opening = this.#opening(scope, leavesState, origin, planned?.check)
    const before = isReadOnly ? [...opening, refuseWrites] : opening
    if (this.#rehearsal !== undefined) {
      const rehearsed = buildMessage(scope, steps, [rollback, begin, ...this.#rehearsal.setup(), ...before])
      const calls = [...rehearsed.calls, checkConstraints, ...sessions.undoing]
      return { ...rehearsed, calls, isBlock: true, leavesState: true, planned: undefined, classesAt: 0 }
    }
    const fitting = planned?.steps ?? plans?.planAnew(scope, steps) ?? steps
    const message = buildMessage(scope, fitting, isBlock ? [begin, ...before] : before)
    const classQueries = planned?.classQueries.map(({ call }) => call) ?? []
    const ending = isBlock && conclude === undefined ? sessions.ending(leavesState) : []
    const calls = [...message.calls, ...classQueries, ...ending]
    return { ...message, calls, isBlock, leavesState, planned, classesAt: message.calls.length }
  }

  #opening(scope: CallerScope, leavesState: boolean, origin?: Origin, check?: SizeCheck): readonly Call[] {
    const context = this.#wayOf(scope).contexts.callFor(scope, origin, check)
    return leavesState ? [discardSequences, context] : [context]
  }
}

/** Of a transaction whose statements are not known yet. */
function isAnything(): boolean {
  return true
}
