import { randomBytes } from 'node:crypto'
import { databaseErrorOf, translateDatabaseFailure } from '../../../database/errors/error-translation.ts'
import type { UserDatabase } from '../../../database/user-database.ts'
import { AppError } from '../../../lib/errors.ts'
import type { Caller, Collections } from '../../data/collections/index.ts'
import { serveData } from './data-requests.ts'
import { runtimeErrors } from './errors.ts'
import type {
  DataRequest,
  FailureMessage,
  FunctionDescription,
  ReplyMessage,
  ResultMessage,
  SqlRequest,
} from './messages.ts'
import { CallTransaction, type TransactionDeps } from './transaction.ts'

/** Collections in a transaction of several messages. */
export interface TransactionData {
  readonly collections: Collections
  /** Announces captured changes, after the commit. */
  readonly announce: () => void
}

/** Opens the collections on a function that runs steps. */
export type OpenData = (run: UserDatabase['run']) => TransactionData

export interface CallDeps extends TransactionDeps {
  readonly openData: OpenData
}

/** Call of a function, from its start to its one end. */
export class Call {
  /** Name of the call in messages, which no other code can guess. */
  readonly token = randomBytes(16).toString('base64url')
  readonly requestId: string
  readonly function: FunctionDescription
  readonly #caller: Caller
  readonly #check: (value: string | undefined) => void
  readonly #data: TransactionData
  readonly #transaction: CallTransaction
  readonly #outcome = Promise.withResolvers<string | undefined>()
  #hasEnded = false

  /** @param check rejects a result, before the commit */
  constructor(
    deps: CallDeps,
    description: FunctionDescription,
    caller: Caller,
    requestId: string,
    check: (value: string | undefined) => void,
  ) {
    this.#check = check
    this.#caller = caller
    this.#transaction = new CallTransaction(deps, caller, description.name)
    this.#data = deps.openData((_scope, steps) => this.#transaction.run(steps))
    this.function = description
    this.requestId = requestId
    // The caller waits for it later.
    this.#outcome.promise.catch(() => undefined)
  }

  /** Result of the function as JSON; undefined for none. It rejects with an AppError. */
  get outcome(): Promise<string | undefined> {
    return this.#outcome.promise
  }

  get hasEnded(): boolean {
    return this.#hasEnded
  }

  /** Handles a request of the function for data. It never rejects. */
  async handle(message: DataRequest | SqlRequest): Promise<ReplyMessage> {
    const { id } = message
    if (this.#hasEnded) return failureReply(id, runtimeErrors.transactionEnded())
    try {
      if (message.type === 'sql') {
        return { type: 'rows', id, ...(await this.#transaction.runText(message.text, message.values)) }
      }
      return { type: 'reply', id, ...(await serveData(this.#data.collections, this.#caller, message)) }
    } catch (error) {
      const failure = databaseErrorOf(error)
      const known = toAppError(error)
      // The author of the statement may read the message of PostgreSQL.
      return failureReply(id, known, known.status === 500 ? failure?.message : undefined)
    }
  }

  /** Ends the call with the result of the function, after the commit. */
  async succeed({ value }: ResultMessage): Promise<void> {
    if (!this.#end()) return
    try {
      this.#check(value)
      await this.#transaction.commit()
      this.#data.announce()
      this.#outcome.resolve(value)
    } catch (error) {
      this.#transaction.rollback()
      this.#outcome.reject(toAppError(error))
    }
  }

  /** Ends the call with the error of the function. */
  refuse(failure: FailureMessage): void {
    this.fail(errorOf(failure))
  }

  /** Ends the call, and rolls back its transaction. It does nothing once the commit has begun. */
  fail(error: AppError): void {
    if (!this.#transaction.rollback()) return
    this.#end()
    this.#outcome.reject(error)
  }

  #end(): boolean {
    if (this.#hasEnded) return false
    this.#hasEnded = true
    return true
  }
}

function errorOf({ kind, status, message, error, data, stack }: FailureMessage): AppError {
  if (kind === 'input') return runtimeErrors.invalidInput(message)
  if (kind === 'refused' && status !== undefined) {
    return new AppError(
      error ?? 'function_refused',
      status,
      message,
      data === undefined ? {} : { data: { ...data } },
    )
  }
  return runtimeErrors.functionFailed().with({ cause: new FunctionFailure(message, stack) })
}

/** Error of a function, for the log. */
class FunctionFailure extends Error {
  override readonly name = 'FunctionFailure'

  constructor(message: string, stack: string | undefined) {
    super(message)
    this.stack = stack ?? message
  }
}

function toAppError(error: unknown): AppError {
  if (error instanceof AppError) return error
  const failure = translateDatabaseFailure(error)
  if (failure !== undefined) return failure
  return runtimeErrors.functionFailed().with({ cause: error })
}

/** Returns the reply for a failed request, in the envelope that the client of the function reads. */
export function failureReply(
  id: number,
  { status, kind, message: known, extras }: AppError,
  message: string = known,
): ReplyMessage {
  const data = extras.data === undefined ? {} : { data: extras.data }
  const body = JSON.stringify({ code: status, message, error: kind, ...data, ...extras.members })
  return { type: 'reply', id, status, body }
}
