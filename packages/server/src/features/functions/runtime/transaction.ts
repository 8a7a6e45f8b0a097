import { describeContext } from '../../../database/caller/caller-context.ts'
import type { CallerScope } from '../../../database/caller/caller-scope.ts'
import type { Step } from '../../../database/caller/caller-steps.ts'
import { type Answer, type Call, statement } from '../../../database/connection/message.ts'
import type { InteractiveTransaction, UserDatabase } from '../../../database/user-database.ts'
import { TaskQueue } from '../../../lib/task-queue.ts'
import type { Caller } from '../../data/collections/index.ts'
import { runtimeErrors } from './errors.ts'
import type { Slots } from './slots.ts'
import { formatRows } from './sql-rows.ts'
import { requireRowStatement } from './sql-text.ts'

/** Maximum number of rows of a statement of `ctx.db.sql`. */
export const rowLimit = 10_000

/** Thrown inside of a transaction to roll it back. */
class RolledBack extends Error {}

export interface TransactionDeps {
  readonly database: Pick<UserDatabase, 'interact'>
  readonly slots: Slots
}

/**
 * Transaction of one call. It begins with the first statement, and ends once: by `commit` or by `rollback`. Statements run one
 * after the other in the order in which they arrive.
 */
export class CallTransaction {
  readonly #deps: TransactionDeps
  readonly #caller: Caller
  readonly #name: string
  readonly #queue = new TaskQueue()
  readonly #stop = new AbortController()
  readonly #end = Promise.withResolvers<'commit' | 'rollback'>()
  #isCommitting = false
  #opened: Promise<InteractiveTransaction> | undefined
  /** Outcome of the transaction on its connection. */
  #settled: Promise<void> | undefined

  constructor(deps: TransactionDeps, caller: Caller, name: string) {
    this.#deps = deps
    this.#caller = caller
    this.#name = name
  }

  /**
   * Runs the steps as the caller. @throws StatementFailed; the transaction continues without the steps
   */
  run(steps: readonly Step[]): Promise<readonly Answer[]> {
    return this.#queue.add(async () => {
      if (this.#stop.signal.aborted) throw runtimeErrors.transactionEnded()
      this.#opened ??= this.#open()
      const transaction = await this.#opened
      return await transaction.run(steps)
    })
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
    }
    const [answer, context] = await this.run([step, readContext])
    if (!isOf(this.#caller.scope, context)) {
      this.rollback()
      throw runtimeErrors.statementNotAllowed(
        'ctx.db.sql may not change the role or the claims of the caller',
      )
    }
    if (answer === undefined) throw new Error('a statement has no answer')
    if (answer.rows.length > rowLimit) throw runtimeErrors.resultTooLarge(rowLimit)
    return { rows: formatRows(answer), count: answer.count }
  }

  /**
   * Commits after the statements that have arrived.
   *
   * @throws AppError transaction_ended after a rollback; the error of the commit
   */
  async commit(): Promise<void> {
    await this.#queue.idle()
    if (!this.#stop.signal.aborted) this.#isCommitting = true
    this.#end.resolve('commit')
    await this.#settled
    if (!this.#isCommitting) throw runtimeErrors.transactionEnded()
  }

  /** Rolls back, and cancels a running statement. @returns false once the commit has begun */
  rollback(): boolean {
    if (this.#isCommitting) return false
    this.#stop.abort(runtimeErrors.transactionEnded())
    this.#end.resolve('rollback')
    return true
  }

  async #open(): Promise<InteractiveTransaction> {
    const { database, slots } = this.#deps
    const { scope, origin, onPosition } = this.#caller
    await slots.acquire(this.#name, this.#stop.signal)
    const opened = Promise.withResolvers<InteractiveTransaction>()
    const options = {
      subject: 'functions',
      isAbandoned: () => this.#stop.signal.aborted,
      origin: origin?.(),
      onPosition,
    }
    this.#settled = database
      .interact(scope, options, async (transaction) => {
        opened.resolve(transaction)
        if ((await this.#end.promise) === 'rollback') throw new RolledBack()
      })
      .catch((error) => {
        opened.reject(error)
        if (!(error instanceof RolledBack)) throw error
      })
      .finally(() => slots.release())
    // Its error is that of the commit, or of the statement that waits for the opening.
    this.#settled.catch(() => undefined)
    opened.promise.catch(() => undefined)
    return await opened.promise
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
