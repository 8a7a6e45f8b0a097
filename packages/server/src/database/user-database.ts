import { setTimeout as delay } from 'node:timers/promises'
import { CallerContexts, type ContextOptions, type SizeCheck } from './caller/caller-context.ts'
import { anonymousRole, type CallerScope, callerRole, type Origin } from './caller/caller-scope.ts'
import {
  answersOf,
  becomeLogin,
  buildMessage,
  locateFailure,
  roleOf,
  ServerStepFailed,
  type Step,
  type StepMessage,
  sendSteps,
} from './caller/caller-steps.ts'
import type { Connection } from './connection/connection.ts'
import { type Answer, begin, type Call, StatementFailed, statement, subjectOf } from './connection/message.ts'
import { ConnectionLost } from './errors/failures.ts'
import { isWorthAnotherAttempt } from './errors/retry.ts'
import { administratorRole } from './logins/roles.ts'
import { PlanCache, type PlannedSteps } from './plans/plan-cache.ts'
import type { Pool } from './pool/pool.ts'
import { ReadQueue } from './pool/read-queue.ts'
import type { ReadConsistency } from './replicas/read-consistency.ts'
import { type ReceivePosition, readPosition, sendingOn, sendWithPosition } from './replicas/write-position.ts'
import type { SessionGuard } from './session/guard.ts'
import { checkConstraints, discardSequences, rollback } from './session/reset.ts'
import { observed, type StatementObserver } from './statement-observer.ts'
import { type InteractiveTransaction, undoableSteps } from './undoable-steps.ts'

const changeSetting = statement('select set_config($1, $2, true)')
/** Time after a refused grant in which it is not tried again. */
const refusalMs = 10_000

/** Transaction of a caller that takes several messages. */
export interface UserTransaction {
  /**
   * Runs the steps in one message, as the caller unless a step says otherwise.
   *
   * @throws StatementFailed with the index of the failing step; the transaction continues from a savepoint
   */
  run(steps: readonly Step[]): Promise<readonly Answer[]>
  /** Runs a `copy … from stdin` as the login role. */
  copyAsLogin(command: string, source: AsyncIterable<Buffer>): Promise<void>
}

export interface InteractOptions extends Pick<RunOptions, 'origin' | 'onPosition'> {
  /** Subject of the work; its quota limits the connections. */
  readonly subject: string
  /** Returns true once nothing waits for the result; a running statement is then cancelled. */
  readonly isAbandoned: () => boolean
  /**
   * Time limit of the transaction and of each of its statements in milliseconds. Default: that of requests. The caller rolls back
   * before.
   */
  readonly limitMs?: number | undefined
  /**
   * True if steps may have the identity of the administrator, too. The transaction then uses the administrators' login. Each message
   * sets its whole context, and ends with that of the caller.
   */
  readonly mayBecomeAdministrator?: boolean | undefined
}

/** Thrown when no transaction can have both the identity of a caller and that of the administrator. */
export class AdministratorUnavailable extends Error {}

export interface TransactionOptions {
  readonly origin?: Origin | undefined
  /** Settings of the transaction, such as another `statement_timeout`. */
  readonly settings?: Readonly<Record<string, string>>
  /** True if all of its statements see the same state of the database. */
  readonly isSnapshot?: boolean
  /**
   * Snapshot exported by a transaction that is still open. The statements see the same state as those of that
   * transaction.
   */
  readonly snapshot?: string | undefined
}

const beginSnapshot: Call = { statement: statement('begin isolation level repeatable read'), values: [] }

/** Thrown when the snapshot's transaction has ended. */
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
  /** Origin for a setting of the transaction; undefined where nothing reads it. */
  readonly origin?: Origin | undefined
  /** True if running the calls twice is harmless. A broken connection may then be followed by one retry. */
  readonly isRead: boolean
  /** True if PostgreSQL rejects writes, even those of functions. */
  readonly isReadOnly?: boolean
  /** Returns true if the client has disconnected; its statement is then cancelled. */
  readonly isAbandoned?: () => boolean
  /** Returns the state that a read must see; undefined for a read that only the primary serves. Without replicas it is not called. */
  readonly consistency?: (() => ReadConsistency) | undefined
  /** Receives the position of the log after the commit of a write. Without replicas it is not called. */
  readonly onPosition?: ReceivePosition | undefined
  /** True if a failure is followed by an attempt on another server. */
  readonly hasAlternative?: boolean
  /**
   * Returns the last steps, from the results of the others. They follow in a second message of the same
   * transaction, which is undone when this function throws.
   */
  readonly conclude?: ((answers: readonly Answer[]) => readonly Step[]) | undefined
}

/** Rehearsal that undoes every run, after the setup at the start of its transaction; for tests of policies. */
export interface Rehearsal {
  /** Returns the calls before each run, which run as the login role of the connection. */
  readonly setup: () => readonly Call[]
  /** Secret for the passwords of login roles. Other databases of the cluster have the same roles. */
  readonly loginSecret: string
}

/** Router of reads to servers other than the primary. */
export interface ReadRouter {
  /** Runs the steps of a read on a replica, or else by the function. */
  run(
    scope: CallerScope,
    steps: readonly Step[],
    options: RunOptions & Required<Pick<RunOptions, 'consistency'>>,
    runOnPrimary: () => Promise<readonly Answer[]>,
  ): Promise<readonly Answer[]>
}

/** Number of attempts with a cached plan before the statements are planned anew. */
const planAttempts = 4

/** Calls of a run, and how they are sent. */
interface RunMessage extends StepMessage {
  /** Undefined where no plan is cached. */
  readonly planned: PlannedSteps | undefined
  /** Index of the first call that queries the class of the caller. */
  readonly classesAt: number
  /** True if its calls begin and end the transaction themselves. */
  readonly isBlock: boolean
  /** True if running them may leave state in the session. */
  readonly leavesState: boolean
}

/** Connections that log in as one role, and the context of their transactions. */
export interface WayOptions extends ContextOptions {
  readonly pool: Pool
  /** Guard that keeps state of one run from the next. */
  readonly sessions: SessionGuard
  /** True if their sessions keep prepared statements, whose plans then fit the caller. */
  readonly prepares: boolean
  /** True if they log in as the owner, because they have no role of their own. */
  readonly isOwner: boolean
}

export interface UserDatabaseOptions {
  /** Connections for callers with and without a token. */
  readonly callers: WayOptions
  /** Connections for work without policies. No connection serves both, unless both log in as the owner. */
  readonly administrators: WayOptions
  /** Grants to administrators the objects that were created since. @returns true if a grant was missing */
  readonly repairGrants: () => Promise<boolean>
  /** Lets the administrators' login become the roles of callers. @returns false where the owner may not grant it */
  readonly grantCallerRoles: () => Promise<boolean>
}

interface Way extends Pick<WayOptions, 'pool' | 'isOwner' | 'sessions'> {
  readonly reads: ReadQueue
  readonly contexts: CallerContexts
  /** Undefined where nothing is prepared. */
  readonly plans: PlanCache | undefined
}

function createWay({ pool, isOwner, prepares, sessions, ...context }: WayOptions): Way {
  const reads = new ReadQueue(pool, sessions)
  const contexts = new CallerContexts(context)
  return { pool, isOwner, sessions, reads, contexts, plans: prepares ? new PlanCache() : undefined }
}

/** Returns true if PostgreSQL reports a missing privilege. */
function isDenied(error: unknown): boolean {
  const failure = error instanceof ServerStepFailed ? error.failure : error
  return failure instanceof StatementFailed && failure.error.code === '42501'
}

/**
 * Database as callers use it. Every run is one message and one transaction, whose first call sets the caller's
 * role and claims. So no run can bypass the policies, and no extra round trip is needed.
 */
export class UserDatabase {
  readonly #callers: Way
  readonly #administrators: Way
  readonly #rehearsal: Rehearsal | undefined
  readonly #repairGrants: () => Promise<boolean>
  readonly #grantCallerRoles: () => Promise<boolean>
  /** Attempt that lets the administrators' login become the roles of callers, and the time until which its result counts. */
  #switching: { readonly isGranted: Promise<boolean>; until: number } | undefined
  #observe: StatementObserver | undefined
  #replicas: ReadRouter | undefined

  constructor(
    { callers, administrators, repairGrants, grantCallerRoles }: UserDatabaseOptions,
    rehearsal?: Rehearsal,
  ) {
    this.#callers = createWay(callers)
    this.#administrators = administrators === callers ? this.#callers : createWay(administrators)
    this.#repairGrants = repairGrants
    this.#grantCallerRoles = grantCallerRoles
    this.#rehearsal = rehearsal
  }

  /** Sets the observer of every run. */
  observe(observer: StatementObserver): void {
    this.#observe = observer
  }

  /** Sends reads to replicas from now on, where their consistency allows it, and reports the positions of writes. */
  routeReads(replicas: ReadRouter): void {
    this.#replicas = replicas
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
   * Runs the steps as the caller in one transaction. It takes one round trip, unless the run has to be
   * concluded.
   *
   * @throws StatementFailed with the index of the failing step
   * @throws ServerStepFailed, ConnectionLost, PoolExhausted
   */
  run(scope: CallerScope, steps: readonly Step[], options: RunOptions): Promise<readonly Answer[]> {
    const { consistency } = options
    const running =
      this.#replicas === undefined || consistency === undefined || !options.isRead
        ? this.#runHere(scope, steps, options)
        : this.#replicas.run(scope, steps, { ...options, consistency }, () =>
            this.#runHere(scope, steps, options),
          )
    return this.#observe === undefined
      ? running
      : observed(this.#observe, () => steps.map(({ statement }) => statement.text).join(';\n'), running)
  }

  /**
   * Passes on the position of the log after a write of this caller that was made before, or beside the pools. It does nothing
   * without replicas, and never rejects.
   */
  async reportPosition(scope: CallerScope, onPosition: ReceivePosition | undefined): Promise<void> {
    if (this.#replicas === undefined || onPosition === undefined) return
    const { pool } = this.#wayOf(scope)
    await pool.use({ run: (connection) => readPosition(connection, onPosition) }).catch(() => undefined)
  }

  #runHere(scope: CallerScope, steps: readonly Step[], options: RunOptions): Promise<readonly Answer[]> {
    const attempt = this.#runPlanned(scope, steps, options, 1)
    return scope.kind === 'unrestricted' && !this.#administrators.isOwner
      ? attempt.catch(async (error) => {
          if (!isDenied(error) || !(await this.#repairGrants())) throw error
          return await this.#runPlanned(scope, steps, options, 1)
        })
      : attempt
  }

  /**
   * Runs the steps as the caller in the state of a snapshot, which does not contain later commits.
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
   * Begins a transaction of the caller on a connection beside the pool, for work that outlasts a request.
   *
   * @param timeoutMs time limit of each of its statements
   * @returns the statements that commit it
   * @throws ConnectionLost
   */
  async begin(connection: Connection, scope: CallerScope, timeoutMs: number): Promise<string> {
    await connection.script('begin')
    // The order matters: behind a pooler the context contains the timeout of requests.
    const timeout = {
      statement: changeSetting,
      values: ['statement_timeout', String(Math.round(timeoutMs))],
    }
    const { contexts, sessions } = this.#wayOf(scope)
    await connection.send([...contexts.callsFor(scope), timeout])
    return sessions.endingText
  }

  /**
   * Runs the work as the caller in a transaction of several messages. It is committed when the work returns,
   * and rolled back when it throws. It is for work that outlasts a request, on a connection beside the pools.
   *
   * @throws StatementFailed, SnapshotUnavailable, ConnectionLost, and errors of the work
   */
  async transaction<Result>(
    connection: Connection,
    scope: CallerScope,
    { origin, settings = {}, isSnapshot = false, snapshot }: TransactionOptions,
    work: (transaction: UserTransaction) => Promise<Result>,
  ): Promise<Result> {
    const { contexts, sessions, plans } = this.#wayOf(scope)
    const run = async (steps: readonly Step[]): Promise<readonly Answer[]> => {
      return await sendSteps((calls) => connection.send(calls), scope, plans?.planAnew(scope, steps) ?? steps)
    }
    return await sessions.runBlock(connection, isAnything, async () => {
      const context = contexts.callsFor(scope, origin)
      if (snapshot === undefined) await connection.send([isSnapshot ? beginSnapshot : begin, ...context])
      else {
        await adoptSnapshot(connection, snapshot)
        await connection.send(context)
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

  /**
   * Runs the work as the caller in a transaction of several messages on a connection of the pool. It is committed when the work
   * returns, and rolled back when it throws. The session is reset afterwards, because the statements may be those of anyone.
   *
   * @throws AdministratorUnavailable, StatementFailed at the commit, ConnectionLost, PoolExhausted, and errors of the work
   */
  async interact<Result>(
    scope: CallerScope,
    { origin, onPosition, subject, isAbandoned, limitMs, mayBecomeAdministrator = false }: InteractOptions,
    work: (transaction: InteractiveTransaction) => Promise<Result>,
  ): Promise<Result> {
    if (mayBecomeAdministrator) {
      const fault = await this.findAdministratorFault()
      if (fault !== undefined) throw new AdministratorUnavailable(fault)
    }
    const { pool, contexts, sessions, plans } = mayBecomeAdministrator
      ? this.#administrators
      : this.#wayOf(scope)
    // The order matters: behind a pooler the context contains the time limits of requests.
    const context = [
      ...contexts.callsFor(scope, origin),
      ...(limitMs === undefined ? [] : timeLimits(limitMs)),
    ]
    const run = async (connection: Connection) => {
      const { transaction, end, requireIntact } = undoableSteps({
        opening: [begin, ...context],
        async send(calls, steps, identity = { scope, origin }) {
          // After calls that set savepoints, so that an undo restores the context, too.
          const isSwitched = mayBecomeAdministrator && steps.length > 0
          const before = isSwitched ? [...calls, contexts.switchTo(identity.scope, identity.origin)] : calls
          const planned = plans?.planAnew(identity.scope, steps) ?? steps
          // Deferred triggers run at the commit, as the caller.
          const after = isSwitched ? [contexts.switchTo(scope, origin)] : []
          const send = (sent: readonly Call[]) => connection.send(sent)
          return await sendSteps(send, identity.scope, planned, { before, after })
        },
        mayRepeat: (error, attempt, identity) =>
          this.#mayRepeatStep(identity?.scope ?? scope, error, attempt, isAbandoned),
      })
      let result: Result
      let isBegun = false
      try {
        result = await work(transaction)
      } finally {
        // The connection must not be passed on while a step still uses it.
        isBegun = await end()
      }
      requireIntact()
      if (isBegun) await this.#sendLast(connection, sessions.ending(true), { onPosition, isRead: false })
      return result
    }
    return await pool.use({
      subject,
      isAbandoned,
      limitMs,
      run: (connection) => sessions.runBlock(connection, isAnything, () => run(connection)),
    })
  }

  /** Returns why no transaction can have both the identity of a caller and that of the administrator; undefined if one can. */
  async findAdministratorFault(): Promise<string | undefined> {
    const { isOwner, contexts } = this.#administrators
    if (isOwner) return `there is no login ${administratorRole}, as the log at startup says`
    // The workers of a distributed table have a session for each role, and one does not see the changes of another.
    if (contexts.isDistributed) return 'the tables of this database may be distributed'
    return (await this.#maySwitch())
      ? undefined
      : `have an administrator run: grant ${callerRole}, ${anonymousRole} to ${administratorRole};`
  }

  /** Returns true if the administrators' login may become the roles of callers, which is granted at the first call. */
  async #maySwitch(): Promise<boolean> {
    if (this.#switching !== undefined && performance.now() < this.#switching.until)
      return await this.#switching.isGranted
    const attempt = { isGranted: this.#grantCallerRoles(), until: Number.POSITIVE_INFINITY }
    this.#switching = attempt
    try {
      const isGranted = await attempt.isGranted
      if (!isGranted) attempt.until = performance.now() + refusalMs
      return isGranted
    } catch (error) {
      this.#switching = undefined
      throw error
    }
  }

  /** Returns true if an undone step may succeed now. Missing grants of administrators are repaired first. */
  async #mayRepeatStep(
    scope: CallerScope,
    error: unknown,
    attempt: number,
    isAbandoned: () => boolean,
  ): Promise<boolean> {
    if (isWorthAnotherAttempt(error, attempt, { isRead: false, isAbandoned })) {
      await delay(Math.random() * 20 * attempt)
      return true
    }
    const isRepairable = scope.kind === 'unrestricted' && !this.#administrators.isOwner && isDenied(error)
    return isRepairable && (await this.#repairGrants())
  }

  #wayOf({ kind }: CallerScope): Way {
    return kind === 'unrestricted' ? this.#administrators : this.#callers
  }

  /** Runs the steps with cached plans, and again where PostgreSQL reports that a plan does not fit. */
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

  #send(scope: CallerScope, message: RunMessage, options: RunOptions): Promise<readonly Answer[]> {
    const { pool, reads, sessions } = this.#wayOf(scope)
    const { calls, leavesState, isBlock } = message
    const { isRead, isAbandoned } = options
    if (isRead && !isBlock) return reads.send(message, isAbandoned)
    const run = isBlock
      ? (connection: Connection) =>
          sessions.runBlock(
            connection,
            () => leavesState,
            () => this.#sendLast(connection, calls, options),
          )
      : (connection: Connection) => this.#sendAlone(connection, sessions, message, options)
    return pool.use({ run, subject: subjectOf(calls), isAbandoned })
  }

  async #sendConcluded(
    scope: CallerScope,
    { calls, steps, positions, ...message }: RunMessage,
    conclude: NonNullable<RunOptions['conclude']>,
    options: RunOptions,
  ): Promise<readonly Answer[]> {
    const { pool, sessions } = this.#wayOf(scope)
    let { leavesState } = message
    const run = async (connection: Connection) => {
      const answers = await connection.send(calls)
      const last = conclude(answersOf({ positions }, answers))
      leavesState ||= sessions.mayLeaveState(last)
      const ending = sessions.ending(leavesState)
      const concluding = [...buildMessage(scope, last).calls, ...ending]
      await this.#sendLast(connection, concluding, options).catch((error) => {
        // The failure belongs to none of the steps, as that of a deferred constraint at the commit.
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
      isAbandoned: options.isAbandoned,
    })
  }

  /** Sends a message that is a transaction by itself. */
  #sendAlone(
    connection: Connection,
    sessions: SessionGuard,
    message: Pick<RunMessage, 'calls' | 'leavesState'>,
    { onPosition }: RunOptions,
  ): Promise<readonly Answer[]> {
    if (onPosition === undefined || this.#replicas === undefined) {
      return sessions.send(connection, message.calls, message.leavesState)
    }
    return sendWithPosition(message, (messages) => sessions.sendEach(connection, messages), onPosition)
  }

  /** Sends the message that ends a transaction block. */
  #sendLast(
    connection: Connection,
    calls: readonly Call[],
    { onPosition }: RunOptions,
  ): Promise<readonly Answer[]> {
    if (onPosition === undefined || this.#replicas === undefined) return connection.send(calls)
    return sendWithPosition({ calls, leavesState: false }, sendingOn(connection), onPosition)
  }

  /** Adds the context before the steps, and the statements of the transaction around both. */
  #assemble(
    scope: CallerScope,
    steps: readonly Step[],
    { origin, isRead, isReadOnly = false, conclude }: RunOptions,
    isPlannedAnew: boolean,
  ): RunMessage {
    const { sessions, plans, contexts } = this.#wayOf(scope)
    const leavesState = sessions.mayLeaveState(steps)
    const isBlock = conclude !== undefined || sessions.needsBlock(leavesState)
    const isKept = !isPlannedAnew && this.#rehearsal === undefined
    const planned = isKept ? plans?.plan(scope, steps, isRead && !isBlock) : undefined
    const opening = this.#opening(scope, leavesState, origin, planned?.check)
    const before = isReadOnly ? [...opening, contexts.refuseWrites] : opening
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
    const context = this.#wayOf(scope).contexts.callsFor(scope, origin, check)
    return leavesState ? [discardSequences, ...context] : context
  }
}

/** Returns the calls that set the time limits of a transaction, of its statements and of its pauses. */
function timeLimits(limitMs: number): readonly Call[] {
  return ['statement_timeout', 'idle_in_transaction_session_timeout'].map((name) => ({
    statement: changeSetting,
    values: [name, String(Math.ceil(limitMs))],
  }))
}

/** Returns true: the statements of the transaction are not known yet. */
function isAnything(): boolean {
  return true
}
