import { Lru } from '../../lib/lru.ts'
import type { SessionCode } from '../catalog/session-code.ts'
import type { Connection } from '../connection/connection.ts'
import { type Answer, type Call, commit, type Receiver, type Statement } from '../connection/message.ts'
import { probeTransactions, type TransactionMode } from '../connection/probe.ts'
import { ConnectionLost } from '../errors/failures.ts'
import { checkConstraints, resetCalls, resetTexts, rollback, rollbackAndChain } from './reset.ts'

export interface SessionOptions {
  /** True if a pooler shares sessions between transactions. */
  readonly isPooled: boolean
  /** What makes a transaction of a message. */
  readonly transactions: TransactionMode
}

/** A message, and whether it may leave something in its session. */
export interface GuardedMessage extends Receiver {
  readonly calls: readonly Call[]
  readonly leavesState: boolean
}

/** Texts of system statements that are judged once. */
const textLimit = 2000

/**
 * Keeps what the operator's code leaves in a session (settings, roles, temporary tables, locks, prepared statements) from
 * the next request. Where such code may have run the session is made as a new one: on a connection of our own in a message
 * that follows in the same packet, behind a pooler in the same transaction, since the next message reaches another session.
 */
export class SessionGuard {
  readonly #isPooled: boolean
  #transactions: TransactionMode
  #code: SessionCode | undefined
  #resets: readonly Call[]
  #judged = new WeakMap<Statement, boolean>()
  #judgedTexts = new Lru<string, boolean>(textLimit)
  /** Counts what has become known of the operator's code. */
  #generation = 0
  /** As of which generation nothing is left in the session of a connection. */
  readonly #generations = new WeakMap<Connection, number>()

  constructor({ isPooled, transactions }: SessionOptions) {
    this.#isPooled = isPooled
    this.#transactions = transactions
    this.#resets = resetCalls({ isPooled, mayPrepare: true })
  }

  /** Judges statements by this from now on; before the first, each may leave something. */
  trust(code: SessionCode): void {
    this.#code = code
    this.#resets = resetCalls({ isPooled: this.#isPooled, mayPrepare: code.mayPrepare })
    this.#judged = new WeakMap()
    this.#judgedTexts = new Lru(textLimit)
    this.#generation += 1
  }

  /**
   * Proves that statements of one message are one transaction on the new connection.
   *
   * @throws ConnectionLost where they are not, and no block makes them one
   */
  async admit(connection: Connection): Promise<Connection> {
    if (this.#transactions === 'block') return connection
    const found = await probeTransactions(connection)
    if (found === 'message') return connection
    if (found === 'block' && this.#isPooled) {
      this.#transactions = found
      return connection
    }
    connection.destroy()
    throw new ConnectionLost('the database ends transactions before their end')
  }

  /** Returns whether running the calls may leave something in the session. */
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

  /** Returns whether no code leaves anything, and every message is a transaction. */
  get isHarmless(): boolean {
    return this.#code?.isHarmless === true && this.#transactions === 'message'
  }

  /** The same for a statement as a text. */
  mayTextLeaveState(text: string): boolean {
    if (this.#code?.isHarmless === true) return false
    let judged = this.#judgedTexts.get(text)
    if (judged === undefined) {
      judged = this.#code?.mayChangeSession(text) ?? true
      this.#judgedTexts.set(text, judged)
    }
    return judged
  }

  /** Returns whether a message has to begin and end its transaction itself. */
  needsBlock(leavesState: boolean): boolean {
    return this.#transactions === 'block' || (this.#isPooled && leavesState)
  }

  /** What a transaction block ends with. */
  ending(leavesState: boolean): readonly Call[] {
    return this.#isPooled && leavesState ? [checkConstraints, ...this.#resets, commit] : [commit]
  }

  /** The same as one text, whatever has run. */
  get endingText(): string {
    if (!this.#isPooled) return 'commit'
    const texts = resetTexts({ isPooled: true, mayPrepare: this.#code?.mayPrepare ?? true })
    return [checkConstraints.statement.text, ...texts, 'commit'].join('; ')
  }

  /** What undoes a rehearsed transaction, and leaves nothing in its session. */
  get undoing(): readonly Call[] {
    return this.#isPooled ? [rollbackAndChain, ...this.#resets, commit] : [rollback]
  }

  /** Sends messages that are transactions by themselves, each with its own reset behind it. */
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

  /** Runs the work, whose statements are transactions by themselves. @param leavesState asked when it is over */
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
   * Runs the work, which is a transaction block: one that fails is ended, and what either has left is reset.
   *
   * @param leavesState asked when the work is over
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
    if (!this.#isPooled && leavesState()) await this.#reset(connection)
    return result
  }

  async #abandon(connection: Connection, leavesState: boolean): Promise<void> {
    const calls =
      leavesState && this.#isPooled ? this.undoing : [rollback, ...(leavesState ? this.#resets : [])]
    await connection.send(calls).catch(() => connection.destroy())
  }

  /** A connection on which that fails is closed. */
  async #reset(connection: Connection): Promise<void> {
    await connection.send(this.#resets).catch(() => connection.destroy())
  }

  /** Before the first use since more is known of the code that may have run; the sessions of a pooler cannot be reached. */
  #renew(connection: Connection): void {
    const known = this.#generations.get(connection)
    if (known === this.#generation) return
    this.#generations.set(connection, this.#generation)
    // A new session has nothing to reset.
    if (known !== undefined && !this.#isPooled) void this.#reset(connection)
  }
}

function closesOnFailure(connection: Connection): Receiver {
  return { receive: () => undefined, fail: () => connection.destroy() }
}
