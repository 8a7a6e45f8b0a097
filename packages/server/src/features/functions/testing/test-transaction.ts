import { translateDatabaseFailure } from '../../../database/errors/error-translation.ts'
import { checkConstraints } from '../../../database/session/reset.ts'
import type { SharedTransaction } from '../../../database/shared-transaction.ts'
import type { InteractiveTransaction } from '../../../database/undoable-steps.ts'
import { TaskQueue } from '../../../lib/task-queue.ts'
import type { Caller } from '../../data/collections/index.ts'
import { type Addition, type CallWork, nestedWork, runtimeErrors, Statements } from '../runtime/index.ts'

/** Thrown to undo a check that has succeeded. */
class Checked extends Error {}

/** Transaction of a test. Each piece of work in it is a call of one caller, with the effects of a commit on the calls after it. */
export class TestTransaction {
  readonly #transaction: SharedTransaction
  readonly #cancel: () => Promise<void>
  readonly #queue = new TaskQueue()
  readonly #stop = new AbortController()
  readonly #endListeners: (() => void)[] = []
  #hasEnded = false

  /** @param cancel cancels the statement that runs */
  constructor(transaction: SharedTransaction, cancel: () => Promise<void>) {
    this.#transaction = transaction
    this.#cancel = cancel
  }

  /** Aborted at the end, for functions that still run. */
  get signal(): AbortSignal {
    return this.#stop.signal
  }

  /**
   * Runs work as a caller. It is undone if it throws, or if a deferred constraint does not hold at its end.
   *
   * @throws AppError
   */
  run<Result>(
    caller: Caller,
    work: (work: CallWork, additions: readonly Addition[]) => Promise<Result>,
  ): Promise<Result> {
    return this.#queue.add(async () => {
      this.#requireOpen()
      const additions: Addition[] = []
      let isUsed = false
      try {
        return await this.#transaction.as(caller.scope, caller.origin?.()).nest(async (inner) => {
          const statements = new Statements(
            {
              get isOpen() {
                return isUsed
              },
              isSwitching: false,
              run: (steps, accept, identity) => {
                this.#requireOpen()
                isUsed = true
                return inner.run(steps, accept, identity)
              },
              nest: inner.nest,
              abort: () => this.#abort(),
            },
            caller,
            { additions },
          )
          const result = await work(
            nestedWork(
              statements,
              () => {},
              (listener) => this.#endListeners.push(listener),
            ),
            additions,
          )
          await statements.idle()
          if (isUsed) await check(inner)
          return result
        })
      } catch (error) {
        throw translateDatabaseFailure(error) ?? error
      }
    })
  }

  /** Rolls back. */
  async end(): Promise<void> {
    this.#stop.abort()
    this.#abort()
    await this.#queue.idle()
    await this.#transaction.end()
    for (const listener of this.#endListeners) listener()
  }

  #abort(): void {
    if (this.#hasEnded) return
    this.#hasEnded = true
    if (this.#queue.size > 0) void this.#cancel()
  }

  #requireOpen(): void {
    if (this.#hasEnded) throw runtimeErrors.transactionEnded()
  }
}

/** Checks the deferred constraints as a commit does, and leaves them deferred. */
async function check(transaction: InteractiveTransaction): Promise<void> {
  const undo = () => {
    throw new Checked()
  }
  await transaction.run([checkConstraints], undo).catch((error) => {
    if (!(error instanceof Checked)) throw error
  })
}
