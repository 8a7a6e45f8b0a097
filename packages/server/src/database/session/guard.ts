import { Lru } from '../../lib/lru.ts'
import type { SessionCode } from '../catalog/session-code.ts'
import type { Connection } from '../connection/connection.ts'
import { type Answer, type Call, commit, type Receiver, type Statement } from '../connection/message.ts'
import { probeTransactions, type TransactionMode } from '../connection/probe.ts'
import { ConnectionLost } from '../errors/failures.ts'
import type { Primary } from '../primary/primary.ts'
import { checkConstraints, resetCalls, resetTexts, rollback, rollbackAndChain } from './reset.ts'

export interface SessionOptions {
  /** True if a pooler shares sessions between transactions. */
  readonly isPooled: boolean
  /** Way in which a message becomes a transaction. */
  readonly transactions: TransactionMode
}

/** Message, and whether it may leave state in its session. */
export interface GuardedMessage extends Receiver {
  readonly calls: readonly Call[]
  readonly leavesState: boolean
}

/** Number of cached system statements that were judged by their text. */
const textLimit = 2000

/**
 * Guard that keeps state of the operator's code (settings, roles, temporary tables, locks, prepared statements)
 * from the next request. Where such code may have run, the session is reset. On a connection of our own, the
 * reset is a message that follows in the same packet. Behind a pooler, it is in the same transaction, because
 * the next message may get another session.
 */
export class SessionGuard {
  /** True if a pooler shares sessions between transactions. */
  readonly isPooled: boolean
  #transactions: TransactionMode
  #code: SessionCode | undefined
  #resets: readonly Call[]
  #judged = new WeakMap<Statement, boolean>()
  #judgedTexts = new Lru<string, boolean>(textLimit)
  /** Version of the knowledge about the operator's code. */
  #generation = 0
  /** Generation as of which a connection's session has no state left. */
  readonly #generations = new WeakMap<Connection, number>()

  constructor({ isPooled, transactions }: SessionOptions) {
    this.isPooled = isPooled
    this.#transactions = transactions
    this.#resets = resetCalls({ isPooled, mayPrepare: true })
  }

  /** Judges statements by this code from now on. Before the first call, every statement may leave state. */
  trust(code: SessionCode): void {
    this.#code = code
    this.#resets = resetCalls({ isPooled: this.isPooled, mayPrepare: code.mayPrepare })
    this.#judged = new WeakMap()
    this.#judgedTexts = new Lru(textLimit)
    this.#generation += 1
  }

  /**
   * Verifies that the statements of one message are one transaction on the new connection, and that it does not lead to a
   * former primary.
   *
   * @throws ConnectionLost where they are not, and no block makes them one
   */
  async admit(connection: Connection, primary?: Primary): Promise<Connection> {
    if (this.#transactions === 'block') return connection
    const check = primary?.checkOf(connection)
    const found = await probeTransactions(connection, check?.message)
    await check?.outcome
    if (found === 'message') return connection
    if (found === 'block' && this.isPooled) {
      this.#transactions = found
      return connection
    }
    connection.destroy()
    throw new ConnectionLost('the database ends transactions before their end')
  }

  /** Returns true if the calls may leave state in the session. */
  mayLeaveState(calls: readonly Call[]): boolean {
    return calls.some(({ statement }) => {
      let judged = this.#judged.get(statement)
      if (judged === undefined) {
        judged = this.#code?.mayChangeSession(statement.text) ?? true
        this.#judged.set(statement, judged)
      }
      return judged
    })
  }

  /** True if no code leaves state, and every message is a transaction. */
  get isHarmless(): boolean {
    return this.#code?.isHarmless === true && this.#transactions === 'message'
  }

  /** Returns the same for the text of a statement. */
  mayTextLeaveState(text: string): boolean {
    if (this.#code?.isHarmless === true) return false
    let judged = this.#judgedTexts.get(text)
    if (judged === undefined) {
      judged = this.#code?.mayChangeSession(text) ?? true
      this.#judgedTexts.set(text, judged)
    }
    return judged
  }

  /** Returns true if a message has to begin and end its transaction itself. */
  needsBlock(leavesState: boolean): boolean {
    return this.#transactions === 'block' || (this.isPooled && leavesState)
  }

  /** Returns the last calls of a transaction block. */
  ending(leavesState: boolean): readonly Call[] {
    return this.isPooled && leavesState ? [checkConstraints, ...this.#resets, commit] : [commit]
  }

  /** Returns the same calls as one text, for any statements. */
  get endingText(): string {
    if (!this.isPooled) return 'commit'
    const texts = resetTexts({ isPooled: true, mayPrepare: this.#code?.mayPrepare ?? true })
    return [checkConstraints.statement.text, ...texts, 'commit'].join('; ')
  }

  /** Calls that undo a rehearsed transaction, and leave no state in its session. */
  get undoing(): readonly Call[] {
    return this.isPooled ? [rollbackAndChain, ...this.#resets, commit] : [rollback]
  }

  /** Sends messages that are transactions by themselves, each followed by its own reset. */
  sendEach(connection: Connection, messages: readonly GuardedMessage[]): void {
    this.#renew(connection)
    connection.sendEach(
      messages.flatMap((message) =>
        message.leavesState ? [message, { calls: this.#resets, ...closesOnFailure(connection) }] : [message],
      ),
    )
  }

  send(connection: Connection, calls: readonly Call[], leavesState: boolean): Promise<readonly Answer[]> {
    return new Promise((receive, fail) => this.sendEach(connection, [{ calls, leavesState, receive, fail }]))
  }

  /**
   * Runs the work, whose statements are transactions by themselves.
   *
   * @param leavesState called after the work
   */
  async run<Result>(
    connection: Connection,
    leavesState: () => boolean,
    work: () => Promise<Result>,
  ): Promise<Result> {
    this.#renew(connection)
    try {
      return await work()
    } finally {
      if (leavesState()) await this.#reset(connection)
    }
  }

  /**
   * Runs the work, which is a transaction block. A failed block is rolled back, and state that it left is
   * reset.
   *
   * @param leavesState called after the work
   */
  async runBlock<Result>(
    connection: Connection,
    leavesState: () => boolean,
    work: () => Promise<Result>,
  ): Promise<Result> {
    this.#renew(connection)
    let result: Result
    try {
      result = await work()
    } catch (error) {
      await this.#abandon(connection, leavesState())
      throw error
    }
    if (!this.isPooled && leavesState()) await this.#reset(connection)
    return result
  }

  async #abandon(connection: Connection, leavesState: boolean): Promise<void> {
    const calls =
      leavesState && this.isPooled ? this.undoing : [rollback, ...(leavesState ? this.#resets : [])]
    await connection.send(calls).catch(() => connection.destroy())
  }

  /** Resets the session. The connection is closed if that fails. */
  async #reset(connection: Connection): Promise<void> {
    await connection.send(this.#resets).catch(() => connection.destroy())
  }

  /**
   * Resets the session before its first use since more is known about the operator's code. The sessions of a
   * pooler cannot be reached.
   */
  #renew(connection: Connection): void {
    const known = this.#generations.get(connection)
    if (known === this.#generation) return
    this.#generations.set(connection, this.#generation)
    // A new session has nothing to reset.
    if (known !== undefined && !this.isPooled) void this.#reset(connection)
  }
}

function closesOnFailure(connection: Connection): Receiver {
  return { receive: () => undefined, fail: () => connection.destroy() }
}
