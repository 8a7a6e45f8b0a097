import { setTimeout as delay } from 'node:timers/promises'
import type { Connection } from './connection.ts'
import { translateDatabaseFailure } from './errors.ts'
import { ConnectionLost } from './failures.ts'
import {
  type Answer,
  begin,
  type Call,
  commit,
  missingStatement,
  type Statement,
  StatementFailed,
  statement,
  subjectOf,
} from './message.ts'
import type { Pool } from './pool.ts'
import { ReadQueue } from './read-queue.ts'
import { observed, type StatementObserver } from './statement-observer.ts'

/** The role every caller with a token works as. */
export const callerRole = 'basalt_authenticated'

/** The role of every request without a token. It may do nothing that the operator has not granted to it. */
export const anonymousRole = 'basalt_anonymous'

function become(role: string): Call {
  return { statement: statement(`select set_config('role', '${role}', true)`), values: [] }
}

const becomeLogin = become('none')
/** Of the scopes that do not work as the login role. */
const becomeRole = { caller: become(callerRole), anonymous: become(anonymousRole) }

const refuseWrites: Call = {
  statement: statement("select set_config('transaction_read_only', 'on', true)"),
  values: [],
}
const changeSetting = statement('select set_config($1, $2, true)')

type Settings = Readonly<Record<string, string>>

/** A transaction of a caller that takes several messages. */
export interface UserTransaction {
  /**
   * Runs the steps in one message, as the caller unless they say otherwise.
   *
   * @throws StatementFailed with the index of the failing step; the transaction goes on from a savepoint
   */
  run(steps: readonly Step[]): Promise<readonly Answer[]>
  /** Runs a `copy … from stdin` as the login role. */
  copyAsLogin(command: string, source: AsyncIterable<Buffer>): Promise<void>
}

export interface TransactionOptions {
  readonly origin?: Origin | undefined
  /** Of the transaction, such as another `statement_timeout`. */
  readonly settings?: Settings
  /** Whether all of its statements see the same state of the database. */
  readonly isSnapshot?: boolean
}

const beginSnapshot: Call = { statement: statement('begin isolation level repeatable read'), values: [] }

/** What a program may do with the data of the user it acts for. */
export interface Grant {
  readonly mayWrite: boolean
  /** Collections it may touch; undefined: all. */
  readonly tables: ReadonlySet<string> | undefined
}

/** On whose behalf data is read and written. */
export type CallerScope =
  /** A caller with a token: policies apply, and see these claims. */
  | {
      readonly kind: 'caller'
      readonly userId: string
      readonly email: string
      readonly isEmailVerified: boolean
      readonly aal: string
      readonly isAnonymous: boolean
      readonly sessionId: string
      /** Undefined for people. */
      readonly grant?: Grant
    }
  /** A request without a token: policies apply, and see no claims. */
  | { readonly kind: 'anonymous' }
  /** The administrator, or any caller while auth is off: the login role, without policies. */
  | { readonly kind: 'unrestricted' }

/** A call of a run. */
export interface Step extends Call {
  /** Runs as the login role, for every caller: for what the server itself keeps beside the caller's data. */
  readonly asLogin?: boolean
}

/** A step of the login role was refused as requests are: what was wrong is not for the caller to know. */
export class ServerStepFailed extends Error {
  readonly failure: StatementFailed

  constructor(failure: StatementFailed) {
    super('a step of the server itself failed', { cause: failure.error })
    this.failure = failure
  }
}

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

/** Which request a write belongs to, for the log of changes and the record of those in audited tables. */
export interface Origin {
  /** `user`, `admin`, `anonymous`, `open` or `admin as user`. */
  readonly actor: string
  readonly requestId: string
  readonly appId: string
  /** Empty without one. */
  readonly keyId: string
  readonly address: string
}

/** What the log of changes and the audit keep of an origin: one setting, as each costs a write as much as all of them. */
const originVariable = 'basalt.origin'

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
  /** Runs as the login role, in front of each run. */
  readonly setup: () => readonly Call[]
}

/** Ends what a run that failed has left open, so that the connection can be used again. */
const rollback: Call = { statement: statement('rollback'), values: [] }
/** What would fail at the commit fails before the rollback. */
const checkConstraints: Call = { statement: statement('set constraints all immediate'), values: [] }

/** A serialization failure or a deadlock: nothing happened, another attempt may succeed. */
export const conflictCodes = new Set(['40001', '40P01'])
const conflictAttempts = 4
/** The backend is ending: administrator's command, crash of a sibling, start-up. */
const endingCodes = new Set(['57P01', '57P02', '57P03'])

/**
 * The database as callers use it: every run is one message and one transaction that begins by taking on the
 * caller's role and claims, so there is no way past the policies and no extra round trip.
 */
export class UserDatabase {
  readonly #pool: Pool
  readonly #reads: ReadQueue
  readonly #callerContext: Context
  readonly #anonymousContext: Context
  readonly #unrestrictedContext: Context
  readonly #rehearsal: Rehearsal | undefined
  #observe: StatementObserver | undefined

  /**
   * @param sessionSettings settings each transaction makes for itself; empty where the connection carries them.
   */
  constructor(pool: Pool, sessionSettings: Readonly<Record<string, string>>, rehearsal?: Rehearsal) {
    this.#pool = pool
    this.#rehearsal = rehearsal
    this.#reads = new ReadQueue(pool)
    this.#callerContext = createContext({ role: callerRole, ...sessionSettings }, callerVariables)
    this.#anonymousContext = createContext({ role: anonymousRole, ...sessionSettings }, callerVariables)
    // Where the login role cannot bypass a policy the statement fails instead of silently seeing less.
    this.#unrestrictedContext = createContext({ row_security: 'off', ...sessionSettings }, [])
  }

  /** Has every run observed. */
  observe(observer: StatementObserver): void {
    this.#observe = observer
  }

  get stats(): Pool['stats'] {
    return this.#pool.stats
  }

  /**
   * Runs the steps as the caller in one transaction and, unless it has to be concluded, one round trip.
   *
   * @throws StatementFailed with the index of the failing step
   * @throws ServerStepFailed, ConnectionLost, PoolExhausted
   */
  run(scope: CallerScope, steps: readonly Step[], options: RunOptions): Promise<readonly Answer[]> {
    const { conclude } = options
    const message = this.#assemble(scope, steps, options)
    const send = conclude && (() => this.#sendConcluded(scope, message, conclude, options))
    const running = this.#attempt(message, options, 1, send)
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
    const message = this.#assemble(scope, steps)
    return await this.#pool.use({
      subject: subjectOf(message.calls),
      run: async (connection) => {
        try {
          await adoptSnapshot(connection, snapshot)
          const answers = await connection.send([...message.calls, commit])
          return message.places.map((place) => answers[place] ?? noAnswer)
        } catch (error) {
          // A connection whose rollback fails is in an unknown state and must not be used again.
          await connection.script('rollback').catch(() => connection.destroy())
          throw locateFailure(error, message)
        }
      },
    })
  }

  /**
   * Begins a transaction of the caller on a connection beside the pool, for work that takes longer than a request may.
   *
   * @param timeoutMs that each of its statements may take
   * @throws ConnectionLost
   */
  async begin(connection: Connection, scope: CallerScope, timeoutMs: number): Promise<void> {
    await connection.script('begin')
    // In this order: behind a pooler the context has the timeout of requests.
    const timeout = {
      statement: changeSetting,
      values: ['statement_timeout', String(Math.round(timeoutMs))],
    }
    await connection.send([this.#contextOf(scope, undefined), timeout])
  }

  /**
   * Runs the work as the caller in a transaction of several messages: committed when it returns, rolled back when it
   * throws. For what takes longer than a request may, on a connection beside the pools.
   *
   * @throws what the work throws, StatementFailed, ConnectionLost
   */
  async transaction<Result>(
    connection: Connection,
    scope: CallerScope,
    { origin, settings = {}, isSnapshot = false }: TransactionOptions,
    work: (transaction: UserTransaction) => Promise<Result>,
  ): Promise<Result> {
    const run = async (steps: readonly Step[]): Promise<readonly Answer[]> => {
      const message = placeSteps(scope, steps)
      try {
        const answers = await connection.send(message.calls)
        return message.places.map((place) => answers[place] ?? noAnswer)
      } catch (error) {
        throw locateFailure(error, message)
      }
    }
    try {
      await connection.send([isSnapshot ? beginSnapshot : begin, this.#contextOf(scope, origin)])
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
      await connection.send([commit])
      return result
    } catch (error) {
      // A connection whose rollback fails is in an unknown state and must not be used again.
      await connection.script('rollback').catch(() => connection.destroy())
      throw error
    }
  }

  #attempt(
    message: Assembled,
    options: RunOptions,
    attempt: number,
    send = () => this.#send(message.calls, options),
  ): Promise<readonly Answer[]> {
    return send().then(
      (answers) => message.places.map((place) => answers[place] ?? noAnswer),
      async (error) => {
        if (!isWorthAnotherAttempt(error, attempt, options)) throw locateFailure(error, message)
        // Transactions that collided must not do so again at once.
        if (!options.isRead || attempt > 1) await delay(Math.random() * 20 * attempt)
        return await this.#attempt(message, options, attempt + 1, send)
      },
    )
  }

  #send(message: readonly Call[], { isRead, isAbandoned }: RunOptions): Promise<readonly Answer[]> {
    if (isRead) return this.#reads.send(message, isAbandoned)
    return this.#pool.use({
      run: (connection) => connection.send(message),
      subject: subjectOf(message),
      isAbandoned,
    })
  }

  async #sendConcluded(
    scope: CallerScope,
    { calls, steps, places }: Assembled,
    conclude: NonNullable<RunOptions['conclude']>,
    { isAbandoned }: RunOptions,
  ): Promise<readonly Answer[]> {
    const run = async (connection: Connection) => {
      try {
        const answers = await connection.send(calls)
        const last = placeSteps(scope, conclude(places.map((place) => answers[place] ?? noAnswer)))
        await connection.send([...last.calls, commit]).catch((error) => {
          // Of none of the steps, as a deferred constraint is that fails at the commit.
          throw error instanceof StatementFailed ? new StatementFailed(error.error, calls.length) : error
        })
        return answers
      } catch (error) {
        // A connection whose rollback fails is in an unknown state and must not be used again.
        await connection.script('rollback').catch(() => connection.destroy())
        throw error
      }
    }
    return await this.#pool.use({ run, subject: subjectOf(steps), isAbandoned })
  }

  /** Puts the context before the steps. */
  #assemble(
    scope: CallerScope,
    steps: readonly Step[],
    { origin, isReadOnly = false, conclude }: Partial<RunOptions> = {},
  ): Assembled {
    const context = this.#contextOf(scope, origin)
    const opening = conclude === undefined ? [context] : [begin, context]
    const before = isReadOnly ? [...opening, refuseWrites] : opening
    if (this.#rehearsal === undefined) return placeSteps(scope, steps, before)
    const rehearsed = placeSteps(scope, steps, [rollback, begin, ...this.#rehearsal.setup(), ...before])
    return { ...rehearsed, calls: [...rehearsed.calls, checkConstraints, rollback] }
  }

  #contextOf(scope: CallerScope, origin: Origin | undefined): Call {
    const { plain, withOrigin } = this.#statementsOf(scope)
    const claims = claimsOf(scope)
    if (origin === undefined) return { statement: plain, values: claims }
    return { statement: withOrigin, values: [...claims, describeOrigin(scope, origin)] }
  }

  #statementsOf({ kind }: CallerScope): Context {
    if (kind === 'caller') return this.#callerContext
    return kind === 'anonymous' ? this.#anonymousContext : this.#unrestrictedContext
  }
}

/** Undefined for the login role. */
function roleOf({ kind }: CallerScope): Call | undefined {
  return kind === 'unrestricted' ? undefined : becomeRole[kind]
}

/** Puts changes of the role around the steps of the login role. @param before calls that come first */
function placeSteps(scope: CallerScope, steps: readonly Step[], before: readonly Call[] = []): Assembled {
  const calls: Call[] = [...before]
  const role = roleOf(scope)
  const places: number[] = []
  let isLogin = false
  for (const step of steps) {
    const wantsLogin = role !== undefined && step.asLogin === true
    if (role !== undefined && wantsLogin !== isLogin) calls.push(wantsLogin ? becomeLogin : role)
    isLogin = wantsLogin
    places.push(calls.push(step) - 1)
  }
  // Before PostgreSQL 18, triggers that wait for the commit run as the role that is set then.
  if (role !== undefined && isLogin) calls.push(role)
  return { calls, steps, places }
}

/** The statement that a transaction begins with. */
interface Context {
  readonly plain: Statement
  readonly withOrigin: Statement
}

function createContext(fixed: Readonly<Record<string, string>>, variables: readonly string[]): Context {
  const settings = Object.entries(fixed).map(([name, value]) => `set_config('${name}', '${value}', true)`)
  const selecting = (names: readonly string[]) =>
    statement(
      `select ${[...settings, ...names.map((name, index) => `set_config('${name}', $${index + 1}, true)`)].join(', ')}`,
    )
  return {
    plain: selecting(variables),
    withOrigin: selecting([...variables, originVariable]),
  }
}

/** As the column `origin` of `basalt.outbox` and the triggers of `basalt.audit` read it. */
function describeOrigin(scope: CallerScope, { actor, keyId, requestId, appId, address }: Origin): string {
  const userId = scope.kind === 'caller' ? scope.userId : null
  return JSON.stringify([actor, userId, keyId || null, requestId, appId, address || null])
}

function claimsOf(scope: CallerScope): string[] {
  if (scope.kind === 'unrestricted') return []
  if (scope.kind === 'anonymous') return callerVariables.map(() => '')
  const { userId, email, isEmailVerified, aal, isAnonymous, sessionId } = scope
  return [userId, email, String(isEmailVerified), aal, String(isAnonymous), sessionId]
}

/** The claims that policies read, in the order of {@link claimsOf}. */
const callerVariables = [
  'basalt.user_id',
  'basalt.user_email',
  'basalt.email_verified',
  'basalt.aal',
  'basalt.is_anonymous',
  'basalt.session_id',
]

/** What a transaction of the caller begins with: the role, undefined for the login role, and what policies see. */
export function describeContext(scope: CallerScope): {
  readonly role: string | undefined
  readonly settings: Settings
} {
  const roles = { caller: callerRole, anonymous: anonymousRole, unrestricted: undefined }
  const claims = claimsOf(scope)
  return {
    role: roles[scope.kind],
    settings: Object.fromEntries(claims.map((value, index) => [callerVariables[index] ?? '', value])),
  }
}

/** A message, and where in it the steps are. */
interface Assembled {
  readonly calls: readonly Call[]
  readonly steps: readonly Step[]
  /** Index of each step among the calls. */
  readonly places: readonly number[]
}

/** Every call of a message that succeeded has an answer; this one satisfies the compiler. */
const noAnswer: Answer = { rows: [], count: 0 }

/** The failure with its index among the steps; one between them counts as that of the step it prepares. */
function locateFailure(error: unknown, { steps, places }: Assembled): unknown {
  if (!(error instanceof StatementFailed)) return error
  const index = places.findIndex((place) => place >= error.index)
  const located = new StatementFailed(error.error, index === -1 ? places.length : index)
  return steps[index]?.asLogin === true && isFaultOfRequest(located) ? new ServerStepFailed(located) : located
}

/** Whether the caller would learn that the request is to blame. */
function isFaultOfRequest(failure: StatementFailed): boolean {
  const status = translateDatabaseFailure(failure)?.status ?? 500
  return status < 500 && !conflictCodes.has(failure.error.code ?? '')
}

function isWorthAnotherAttempt(
  error: unknown,
  attempt: number,
  { isRead, isAbandoned }: RunOptions,
): boolean {
  if (isAbandoned?.() === true) return false
  if (error instanceof ConnectionLost) return isRead && attempt === 1
  if (!(error instanceof StatementFailed)) return false
  const code = error.error.code ?? ''
  if (conflictCodes.has(code)) return attempt < conflictAttempts
  if (endingCodes.has(code)) return isRead && attempt === 1
  // The calls of a message share a statement: when its Parse fails for the first, the others find none.
  return code === missingStatement && attempt < conflictAttempts
}
