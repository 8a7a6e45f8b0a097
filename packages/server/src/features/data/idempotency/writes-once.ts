import type { CallerScope } from '../../../database/caller/caller-scope.ts'
import { ServerStepFailed, type Step } from '../../../database/caller/caller-steps.ts'
import { type Answer, StatementFailed } from '../../../database/connection/message.ts'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { RunOptions, UserDatabase } from '../../../database/user-database.ts'
import { AppError, type ErrorExtras } from '../../../lib/errors.ts'
import { idempotencyErrors } from './errors.ts'
import type { IdempotencyKey } from './key.ts'
import { deleteExpiredKey, findAnswer, keyConstraint, reserveKey, storeAnswer } from './queries.ts'

/** Runner that makes a write with a key once, however often it is sent. */
export interface WritesOnce {
  /**
   * Runs the steps in one transaction. With a key, the result of `read` is stored in that transaction, and is
   * returned when the request comes again. It has to survive JSON.
   *
   * @param read an error that it throws undoes a write with a key
   * @throws AppError idempotency_key_reused, idempotency_key_in_use
   */
  run<Result>(write: KeyedWrite, read: (answers: readonly Answer[]) => Result): Promise<Result>
  /** Runs a write that takes several messages: it calls `reserve` first and `store` last. */
  runLong<Result>(
    key: IdempotencyKey | undefined,
    write: (steps: KeySteps<Result>) => Promise<Result>,
  ): Promise<Result>
  /**
   * Runs work that reads the state before it writes by `run`. A repeated write would find its own changes, so a
   * stored response comes first, also when the same request has made the write meanwhile.
   *
   * @throws AppError idempotency_key_reused
   */
  unlessMade<Result>(key: IdempotencyKey | undefined, work: () => Promise<Result>): Promise<Result>
  /**
   * Runs work that writes by `run`. A failed precondition (412) is stored for the key, because the same request could be
   * fulfilled later. The response is then that of the request that stored first.
   */
  storingFailure<Result>(
    write: { readonly key?: IdempotencyKey | undefined; readonly scope: CallerScope },
    work: () => Promise<Result>,
  ): Promise<Result>
}

export interface KeyedWrite {
  readonly key: IdempotencyKey | undefined
  readonly scope: CallerScope
  readonly steps: readonly Step[]
  readonly options: RunOptions
}

type RunSteps = (steps: readonly Step[]) => Promise<unknown>

export interface KeySteps<Result> {
  reserve(run: RunSteps): Promise<void>
  store(run: RunSteps, result: Result): Promise<void>
}

/** Maximum number of attempts: a key can expire between the attempt that finds it and the read of its response. */
const attemptLimit = 3

/** Failed precondition, as it is stored for a key. */
interface StoredFailure {
  readonly kind: string
  readonly message: string
  readonly extras: Omit<ErrorExtras, 'logKey' | 'detail' | 'cause'>
}

const preconditionFailed = 412

/** Error when the key to reserve belongs to another request. */
class KeyConflict extends Error {}

const statementTimeout = '57014'

export function createWritesOnce(database: {
  readonly user: Pick<UserDatabase, 'run' | 'reportPosition'>
  readonly system: SystemDatabase
}): WritesOnce {
  /** Failures that were read, and need not be stored again. */
  const replayed = new WeakSet<AppError>()

  async function findResult<Result>(key: IdempotencyKey): Promise<{ readonly result: Result } | undefined> {
    const stored = await findAnswer(database.system, key)
    if (stored === undefined) {
      await deleteExpiredKey(database.system, key)
      return undefined
    }
    if (stored.fingerprint !== key.fingerprint) throw idempotencyErrors.idempotencyKeyReused()
    key.replaying()
    // A request with the same method, address and body made it, so it has the same type.
    const answer = JSON.parse(stored.result) as { result: Result } | { failure: StoredFailure }
    if (!('failure' in answer)) return answer
    const { kind, message, extras } = answer.failure
    const failure = new AppError(kind, preconditionFailed, message, extras)
    replayed.add(failure)
    throw failure
  }

  async function repeat<Result>(key: IdempotencyKey, attempt: () => Promise<Result>): Promise<Result> {
    for (let number = 1; number <= attemptLimit; number += 1) {
      try {
        return await attempt()
      } catch (error) {
        if (!(error instanceof KeyConflict)) throw error
        const stored = await findResult<Result>(key)
        if (stored !== undefined) return stored.result
      }
    }
    throw idempotencyErrors.idempotencyKeyInUse().retryAfter(1)
  }

  /** Runs the reservation of the key and the write, in two messages of one transaction. */
  async function runReserved<Result>(
    { scope, steps, options }: KeyedWrite,
    key: IdempotencyKey,
    read: (answers: readonly Answer[]) => Result,
  ): Promise<Result> {
    let made: { readonly result: Result } | undefined
    const conclude = ([, ...answers]: readonly Answer[]) => {
      made = { result: read(answers) }
      return [storeAnswer(key, JSON.stringify(made))]
    }
    try {
      await database.user.run(scope, [reserveKey(key), ...steps], { ...options, conclude })
    } catch (error) {
      if (!(error instanceof StatementFailed) || error.index === 0) throw reservationFailure(error)
      throw new StatementFailed(error.error, error.index - 1)
    }
    if (made === undefined) throw new Error('a write was committed without its answer')
    return made.result
  }

  return {
    async run(write, read) {
      const { key, scope, steps, options } = write
      if (key === undefined) return read(await database.user.run(scope, steps, options))
      let isMade = false
      const result = await repeat(key, async () => {
        const made = await runReserved(write, key, read)
        isMade = true
        return made
      })
      // The write of a stored response was committed before.
      if (!isMade) await database.user.reportPosition(scope, options.onPosition)
      return result
    },

    async unlessMade<Result>(key: IdempotencyKey | undefined, work: () => Promise<Result>) {
      if (key === undefined) return await work()
      const made = await findResult<Result>(key)
      if (made !== undefined) return made.result
      try {
        return await work()
      } catch (error) {
        const madeMeanwhile = await findResult<Result>(key)
        if (madeMeanwhile === undefined) throw error
        return madeMeanwhile.result
      }
    },

    async storingFailure({ key, scope }, work) {
      try {
        return await work()
      } catch (error) {
        if (key === undefined || !isNewFailure(error, replayed)) throw error
        const { kind, message } = error
        const { logKey: _key, detail: _detail, cause: _cause, ...extras } = error.extras
        const failure: StoredFailure = { kind, message, extras }
        const steps = [reserveKey(key), storeAnswer(key, JSON.stringify({ failure }))]
        return await repeat(key, async () => {
          await database.user.run(scope, steps, { isRead: false }).catch((reason) => {
            throw reservationFailure(reason)
          })
          throw error
        })
      }
    },

    async runLong(key, write) {
      if (key === undefined) return await write({ reserve: async () => {}, store: async () => {} })
      return await repeat(key, () =>
        write({
          async reserve(run) {
            await run([reserveKey(key)]).catch((error) => {
              throw reservationFailure(error)
            })
          },
          store: async (run, result) => void (await run([storeAnswer(key, JSON.stringify({ result }))])),
        }),
      )
    },
  }
}

function isNewFailure(error: unknown, replayed: WeakSet<AppError>): error is AppError {
  return error instanceof AppError && error.status === preconditionFailed && !replayed.has(error)
}

/** Returns the error of a failed reservation; any other failure is returned unchanged. */
function reservationFailure(error: unknown): unknown {
  if (error instanceof ServerStepFailed && error.failure.error.constraint === keyConstraint) {
    return new KeyConflict('the key is used', { cause: error })
  }
  return error instanceof StatementFailed && error.error.code === statementTimeout
    ? idempotencyErrors.idempotencyKeyInUse().retryAfter(1)
    : error
}
