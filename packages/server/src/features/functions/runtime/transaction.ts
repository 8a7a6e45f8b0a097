import { describeContext } from '../../../database/caller/caller-context.ts'
import type { CallerScope } from '../../../database/caller/caller-scope.ts'
import type { Step } from '../../../database/caller/caller-steps.ts'
import { type Answer, type Call, MessageTooLong, statement } from '../../../database/connection/message.ts'
import { ConnectionLost } from '../../../database/errors/failures.ts'
import type { InteractiveTransaction, StepIdentity, UndoableSteps } from '../../../database/undoable-steps.ts'
import {
  AdministratorUnavailable,
  type RunOptions,
  type UserDatabase,
} from '../../../database/user-database.ts'
import type { AppError } from '../../../lib/errors.ts'
import { TaskQueue } from '../../../lib/task-queue.ts'
import type { Caller } from '../../data/collections/index.ts'
import { runtimeErrors } from './errors.ts'
import type { SlotSource } from './slots.ts'
import { formatRows } from './sql-rows.ts'
import { requireRowStatement } from './sql-text.ts'

/** Maximum number of rows of a statement of `ctx.db.sql`. */
export const rowLimit = 10_000
/** Maximum number of bytes of its rows. As a text of JSON they fit into a frame. */
export const byteLimit = 7 * 1024 * 1024

/** Thrown inside of a transaction to roll it back. */
class RolledBack extends Error {}

export interface TransactionDeps {
  readonly database: Pick<UserDatabase, 'interact' | 'run' | 'findAdministratorFault'>
  readonly slots: SlotSource
}

/** Open transaction, or a part of it that can be undone. */
export interface StatementSource extends InteractiveTransaction {
  /** True once the transaction has begun. */
  readonly isOpen: boolean
  /** Runs a read as a transaction of its own, before this one has begun; undefined if it has always begun. */
  readonly readAlone?: ReadAlone | undefined
  /** True if its login may become the administrator. Role and claims are then checked after every step. */
  readonly isSwitching: boolean
  /** Rolls the whole transaction back. */
  abort(): void
}

/** Returns the source of the statements of a transaction that others end. */
export function sourceOf({ transaction, requireIntact }: Omit<UndoableSteps, 'end'>) {
  let isAborted = false
  const requireOpen = () => {
    if (isAborted) throw runtimeErrors.transactionEnded()
    requireIntact()
  }
  const source: StatementSource = {
    isOpen: true,
    isSwitching: false,
    async run(steps, accept, identity) {
      if (identity !== undefined)
        throw runtimeErrors.statementNotAllowed(
          'ctx.asAdmin is not available in this transaction: use it in a route or an inbound function',
        )
      requireOpen()
      return await transaction.run(steps, accept)
    },
    nest: transaction.nest,
    abort() {
      isAborted = true
    },
  }
  return { source, requireOpen }
}

type ReadAlone = (steps: readonly Step[], options: RunOptions) => Promise<readonly Answer[]>

/** Job or message that a call has added to its transaction. */
export interface Addition {
  readonly kind: 'job' | 'mail' | 'push' | 'broadcast'
  /** Members as the function gave them. */
  readonly members: object
}

interface StatementOptions {
  /** List of what calls add to the transaction, for tests. */
  readonly additions?: Addition[] | undefined
  readonly queue?: TaskQueue
  /** Identity other than that of the transaction. */
  readonly identity?: StepIdentity | undefined
  /** Function that is called before each statement. */
  readonly prepare?: () => Promise<void>
}

/** Statements in a transaction, one after the other in the order in which they arrive. */
export class Statements {
  readonly #source: StatementSource
  readonly #caller: Caller
  readonly #additions: Addition[] | undefined
  readonly #queue: TaskQueue
  /** Identity other than that of the transaction. */
  readonly #identity: StepIdentity | undefined
  readonly #prepare: (() => Promise<void>) | undefined
  #isUsed = false

  constructor(
    source: StatementSource,
    caller: Caller,
    { additions, queue = new TaskQueue(), identity, prepare }: StatementOptions = {},
  ) {
    this.#source = source
    this.#caller = caller
    this.#additions = additions
    this.#queue = queue
    this.#identity = identity
    this.#prepare = prepare
  }

  /** Returns the same transaction for statements of another caller. @param prepare called before each of them */
  as(caller: Caller, prepare: () => Promise<void>): Statements {
    const identity = { scope: caller.scope, origin: caller.origin?.() }
    const [queue, additions] = [this.#queue, this.#additions]
    return new Statements(this.#source, caller, { queue, additions, identity, prepare })
  }

  /** Notes a job or message that a statement has added. */
  note(addition: Addition): void {
    this.#additions?.push(addition)
  }

  /** True if a statement has arrived. */
  get isUsed(): boolean {
    return this.#isUsed
  }

  /** True once the transaction has begun, also by statements of other work in it. */
  get isOpen(): boolean {
    return this.#source.isOpen
  }

  /** Runs the steps as the caller. @throws StatementFailed, or the error of `accept`; the transaction continues without the steps */
  run = (
    steps: readonly Step[],
    accept?: (answers: readonly Answer[]) => void,
  ): Promise<readonly Answer[]> =>
    this.#source.isSwitching ? this.#runVerified(steps, accept) : this.#add(steps, accept)

  #add(
    steps: readonly Step[],
    accept: ((answers: readonly Answer[]) => void) | undefined,
  ): Promise<readonly Answer[]> {
    this.#isUsed = true
    return this.#queue.add(async () => {
      await this.#prepare?.()
      return await this.#source.run(steps, accept, this.#identity)
    })
  }

  /** Runs the steps, and accepts their results only if role and claims are still those of the caller. */
  async #runVerified(
    steps: readonly Step[],
    accept?: (answers: readonly Answer[]) => void,
  ): Promise<readonly Answer[]> {
    const answers = await this.#add([...steps, readContext], (answers) => {
      if (!isOf(this.#caller.scope, answers.at(-1))) {
        this.abort()
        throw runtimeErrors.statementNotAllowed(
          'a statement may not change the role or the claims of the caller',
        )
      }
      accept?.(answers.slice(0, -1))
    })
    return answers.slice(0, -1)
  }

  /**
   * Runs a read as the caller. Before the first other statement it is a transaction of its own, which may share a message with
   * other reads. In READ COMMITTED it sees the same rows as the first statement of the transaction.
   */
  read: ReadAlone = (steps, options) => {
    const { isOpen, readAlone } = this.#source
    return this.#isUsed || isOpen || readAlone === undefined ? this.run(steps) : readAlone(steps, options)
  }

  /** Runs work whose statements are undone together when it throws. Other statements wait for its end. */
  nest<Result>(work: (statements: Statements) => Promise<Result>): Promise<Result> {
    const source = this.#source
    this.#isUsed = true
    return this.#queue.add(async () => {
      await this.#prepare?.()
      const length = this.#additions?.length ?? 0
      try {
        return await source.nest((inner) =>
          work(
            new Statements(
              {
                ...inner,
                get isOpen() {
                  return source.isOpen
                },
                readAlone: source.readAlone,
                isSwitching: source.isSwitching,
                abort: () => source.abort(),
              },
              this.#caller,
              { additions: this.#additions, identity: this.#identity },
            ),
          ),
        )
      } catch (error) {
        this.#additions?.splice(length)
        throw error
      }
    })
  }

  /** Resolves when the statements that have arrived have ended. */
  idle(): Promise<void> {
    return this.#queue.idle()
  }

  /** Rolls the whole transaction back. */
  abort(): void {
    this.#source.abort()
  }

  /**
   * Runs a statement of the function's own text, and returns its rows as JSON.
   *
   * @throws AppError statement_not_allowed, result_too_large; StatementFailed
   */
  async runText(
    text: string,
    values: readonly (string | null)[],
  ): Promise<{ readonly rows: string; readonly count: number }> {
    requireRowStatement(text)
    const step: Step = {
      // It is planned anew each time: the number of texts is not limited.
      statement: { text, name: '', subject: undefined, reads: [] },
      values,
      describedRows: rowLimit + 1,
      maxBytes: byteLimit,
    }
    let result: { readonly rows: string; readonly count: number } | undefined
    const accept = ([answer]: readonly Answer[]) => {
      if (answer === undefined) throw new Error('a statement has no answer')
      if (answer.rows.length > rowLimit) throw runtimeErrors.resultTooLarge(rowLimit, 'rows')
      const rows = formatRows(answer)
      if (Buffer.byteLength(rows) > byteLimit) throw runtimeErrors.resultTooLarge(byteLimit, 'bytes')
      result = { rows, count: answer.count }
    }
    await this.#runVerified([step], accept).catch((error: unknown) => {
      const isTooLong = error instanceof ConnectionLost && error.cause instanceof MessageTooLong
      throw isTooLong ? runtimeErrors.resultTooLarge(byteLimit, 'bytes') : error
    })
    if (result === undefined) throw new Error('a statement has no result')
    return result
  }
}

/** Transaction that a call uses. */
export interface CallWork {
  readonly statements: Statements
  /** True if the transaction is that of another call or write, which continues if this call is refused. */
  readonly isNested: boolean
  /** Ends the work with success, after the statements that have arrived. */
  commit(): Promise<void>
  /** Calls the listener after the commit of the whole transaction. */
  onCommit(listener: () => void): void
  /** Calls the listener once the whole transaction has been committed or rolled back. */
  onEnd(listener: () => void): void
  /** Rolls back, and cancels a running statement. @returns false once the commit has begun */
  rollback(reason?: AppError): boolean
  /** Error that has ended the transaction; undefined if it has not been rolled back. */
  readonly failure: AppError | undefined
}

/** Creates the work of a call within the transaction of another one. */
export function nestedWork(
  statements: Statements,
  onCommit: CallWork['onCommit'],
  onEnd: CallWork['onEnd'] = () => {},
): CallWork {
  let isCommitted = false
  return {
    statements,
    isNested: true,
    failure: undefined,
    onCommit,
    onEnd,
    async commit() {
      await statements.idle()
      isCommitted = true
    },
    rollback() {
      if (isCommitted) return false
      statements.abort()
      return true
    },
  }
}

export interface CallTransactionOptions {
  /** Name of the function, by which connections are shared. */
  readonly name: string
  /** Maximum wait for a connection; undefined: until the transaction ends. */
  readonly waitMs?: number | undefined
  /** Time limit of the transaction, for calls that may take longer than a request. They end by themselves before. */
  readonly limitMs?: number | undefined
  /** True if its statements may be those of the administrator, too. */
  readonly isAdmin?: boolean
}

/** Transaction of one call or write. It begins with the first statement, and ends once: by `commit` or by `rollback`. */
export class CallTransaction implements CallWork {
  readonly statements: Statements
  readonly isNested = false
  readonly #deps: TransactionDeps
  readonly #caller: Caller
  readonly #options: CallTransactionOptions
  readonly #stop = new AbortController()
  /** Ends reads whose results no code waits for after the end of the call. */
  readonly #reads = new AbortController()
  readonly #end = Promise.withResolvers<'commit' | 'rollback'>()
  readonly #listeners: (() => void)[] = []
  readonly #endListeners: (() => void)[] = []
  #hasSettled = false
  #isCommitting = false
  #opened: Promise<InteractiveTransaction> | undefined
  /** Outcome of the transaction on its connection. */
  #settled: Promise<void> | undefined

  constructor(deps: TransactionDeps, caller: Caller, options: CallTransactionOptions) {
    this.#deps = deps
    this.#caller = caller
    this.#options = options
    const isOpen = () => this.isOpen
    const { isAdmin = false, limitMs } = options
    // A read of its own has the time limit of a request, and the login of the caller.
    const readAlone: ReadAlone | undefined =
      limitMs === undefined && !isAdmin
        ? (steps, runOptions) => this.#readAlone(steps, runOptions)
        : undefined
    this.statements = new Statements(
      {
        get isOpen() {
          return isOpen()
        },
        isSwitching: isAdmin,
        run: async (steps, accept, identity) =>
          await (await this.#transaction()).run(steps, accept, identity),
        nest: (work) => this.#nest(work),
        readAlone,
        abort: () => void this.rollback(),
      },
      caller,
    )
  }

  /** True once a statement has begun the transaction. */
  get isOpen(): boolean {
    return this.#opened !== undefined
  }

  /**
   * Commits after the statements that have arrived.
   *
   * @throws AppError transaction_ended after a rollback; the error of the commit
   */
  async commit(): Promise<void> {
    await this.statements.idle()
    if (!this.#stop.signal.aborted) this.#isCommitting = true
    this.#reads.abort(runtimeErrors.transactionEnded())
    this.#end.resolve('commit')
    await this.#settled
    if (!this.#isCommitting) throw this.#stop.signal.reason
    for (const listener of this.#listeners) listener()
  }

  onCommit(listener: () => void): void {
    this.#listeners.push(listener)
  }

  onEnd(listener: () => void): void {
    if (this.#hasSettled) listener()
    else this.#endListeners.push(listener)
  }

  /** Rolls back, and cancels a running statement. @returns false once the commit has begun */
  rollback(reason: AppError = runtimeErrors.transactionEnded()): boolean {
    if (this.#isCommitting) return false
    this.#stop.abort(reason)
    this.#reads.abort(reason)
    this.#end.resolve('rollback')
    return true
  }

  /** Error that has ended the transaction; undefined if it has not been rolled back. */
  get failure(): AppError | undefined {
    return this.#stop.signal.aborted ? this.#stop.signal.reason : undefined
  }

  async #transaction(): Promise<InteractiveTransaction> {
    if (this.#stop.signal.aborted) throw this.#stop.signal.reason
    if (this.#isCommitting) throw runtimeErrors.transactionEnded()
    this.#opened ??= this.#open()
    return await this.#opened
  }

  /** Runs a read while the transaction has not begun. It needs a connection of the functions, too. */
  async #readAlone(steps: readonly Step[], options: RunOptions): Promise<readonly Answer[]> {
    const { database, slots } = this.#deps
    const { scope, isAbandoned } = this.#caller
    const { signal } = this.#reads
    await this.#acquire(signal)
    try {
      return await database.run(scope, steps, {
        ...options,
        isAbandoned: () => signal.aborted || isAbandoned(),
      })
    } finally {
      slots.release()
    }
  }

  /** Runs nested work, which begins the transaction with its first statement. */
  async #nest<Result>(work: (transaction: InteractiveTransaction) => Promise<Result>): Promise<Result> {
    if (this.#opened !== undefined) return await (await this.#transaction()).nest(work)
    // Without a statement there is nothing to undo. The first one opens the transaction and its part.
    const end = Promise.withResolvers<void>()
    let opened: Promise<InteractiveTransaction> | undefined
    let closed: Promise<void> | undefined
    const open = () => {
      const found = Promise.withResolvers<InteractiveTransaction>()
      closed = this.#transaction().then((transaction) =>
        transaction.nest(async (inner) => {
          found.resolve(inner)
          await end.promise
        }),
      )
      closed.catch(found.reject)
      return found.promise
    }
    const inner: InteractiveTransaction = {
      run: async (steps, accept, identity) => {
        opened ??= open()
        return await (await opened).run(steps, accept, identity)
      },
      nest: async (further) => {
        opened ??= open()
        return await (await opened).nest(further)
      },
    }
    try {
      const result = await work(inner)
      end.resolve()
      await closed
      return result
    } catch (error) {
      end.promise.catch(() => undefined)
      end.reject(error)
      await closed?.catch(() => undefined)
      throw error
    }
  }

  async #open(): Promise<InteractiveTransaction> {
    const { database, slots } = this.#deps
    const { scope, origin, onPosition, isAbandoned } = this.#caller
    await this.#acquire()
    const opened = Promise.withResolvers<InteractiveTransaction>()
    const options = {
      subject: 'functions',
      isAbandoned: () => this.#stop.signal.aborted || isAbandoned(),
      origin: origin?.(),
      onPosition,
      limitMs: this.#options.limitMs,
      mayBecomeAdministrator: this.#options.isAdmin,
    }
    this.#settled = database
      .interact(scope, options, async (transaction) => {
        opened.resolve(transaction)
        if ((await this.#end.promise) === 'rollback') throw new RolledBack()
      })
      .catch((thrown) => {
        const error =
          thrown instanceof AdministratorUnavailable
            ? runtimeErrors.asAdminUnavailable().with({ detail: thrown.message })
            : thrown
        opened.reject(error)
        if (!(error instanceof RolledBack)) throw error
      })
      .finally(() => {
        slots.release()
        this.#hasSettled = true
        for (const listener of this.#endListeners) listener()
      })
    // Its error is that of the commit, or of the statement that waits for the opening.
    this.#settled.catch(() => undefined)
    opened.promise.catch(() => undefined)
    return await opened.promise
  }

  /** Waits for a connection of the functions. After the longest wait, the transaction ends. */
  async #acquire(signal = this.#stop.signal): Promise<void> {
    const { name, waitMs } = this.#options
    const timer =
      waitMs === undefined
        ? undefined
        : setTimeout(() => this.rollback(runtimeErrors.noConnection().retryAfter(1)), waitMs)
    try {
      await this.#deps.slots.acquire(name, signal)
    } finally {
      clearTimeout(timer)
    }
  }
}

const contextSettings = Object.keys(
  describeContext({
    kind: 'caller',
    userId: '',
    email: '',
    isEmailVerified: false,
    aal: '',
    isAnonymous: false,
    sessionId: '',
  }).settings,
)

/** Call that reads the role and the claims. Its names cannot be shadowed by the search path. */
const readContext: Call = {
  statement: statement(
    `select current_user::text, session_user::text, ${contextSettings
      .map((name) => `pg_catalog.current_setting('${name}', true)`)
      .join(', ')}`,
  ),
  values: [],
}

/** Returns true if the role and the claims are still those of the caller. */
function isOf(scope: CallerScope, answer: Answer | undefined): boolean {
  const [role, login, ...claims] = answer?.rows[0] ?? []
  const { role: expected, settings } = describeContext(scope)
  if (role !== (expected ?? login)) return false
  return contextSettings.every((name, index) => (claims[index] ?? '') === (settings[name] ?? ''))
}
