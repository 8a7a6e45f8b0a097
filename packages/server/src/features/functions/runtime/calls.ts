import { randomBytes } from 'node:crypto'
import { databaseErrorOf, translateDatabaseFailure } from '../../../database/errors/error-translation.ts'
import { checkConstraints } from '../../../database/session/reset.ts'
import type { UserDatabase } from '../../../database/user-database.ts'
import { AppError } from '../../../lib/errors.ts'
import { isStorableText } from '../../../lib/storable-text.ts'
import type { Caller, TransactionData, WriteHooks } from '../../data/collections/index.ts'
import { serveData } from './data-requests.ts'
import { runtimeErrors } from './errors.ts'
import type {
  DataRequest,
  EnqueueRequest,
  FailureMessage,
  FunctionDescription,
  HeadMessage,
  ReplyMessage,
  ResultMessage,
  SendRequest,
  SqlRequest,
  StorageMessage,
} from './messages.ts'
import type { StorageReply } from './storage.ts'
import type { StreamedResponse } from './streamed-response.ts'
import type { CallWork, Statements } from './transaction.ts'

/** Maximum number of statements of one call that wait, and maximum size of them together. */
const pendingLimit = 1000
const pendingByteLimit = 8 * 1024 * 1024

/** Opens the collections on a function that runs steps. @param hooks of its writes */
export type OpenData = (run: UserDatabase['run'], hooks: WriteHooks) => TransactionData

/** Statement or request of a function that has ended. */
export interface CallStatement {
  /** Text of the statement without its values, or the request of the data API. */
  readonly text: string
  readonly durationMs: number
  /** Message of its error; undefined after success. */
  readonly error: string | undefined
}

/** Result of a call: JSON, undefined for none, or a response that the function has made itself. */
export type CallOutcome = string | undefined | StreamedResponse

/** Part of a call whose statements are those of the administrator. */
export interface AdminWork {
  readonly caller: Caller
  readonly statements: Statements
  readonly hooks: WriteHooks
}

/** Caller of a function, and the transaction that the function uses. */
export interface CallTerms {
  readonly caller: Caller
  readonly requestId: string
  readonly work: CallWork
  /** Hooks that the writes of the function pass. */
  readonly hooks: WriteHooks
  readonly openData: OpenData
  /** Opens the transaction as the administrator; undefined where the function is not declared for it. */
  readonly openAdmin?: ((reason: string) => AdminWork) | undefined
  /** Adds a job in the transaction, and returns its id. */
  readonly enqueue: (request: EnqueueRequest, work: CallWork) => Promise<string>
  /** Adds a message in the transaction. */
  readonly send: (request: SendRequest, work: CallWork) => Promise<void>
  /** Serves `ctx.storage` as one identity; undefined where the function has none. */
  readonly storage?: ((request: StorageMessage, handle: Identified) => Promise<StorageReply>) | undefined
  /** Receives each line that the function logs. */
  readonly onLog?: (line: string) => void
  /** Receives each statement of the function that has ended. */
  readonly onStatement?: ((statement: CallStatement) => void) | undefined
  /** Rejects a result, before the commit. */
  readonly check: (value: string | undefined) => void
  /**
   * Checks the head of a response, before the commit, and returns the function that opens it afterwards. Undefined for functions
   * that make no response.
   */
  readonly respond?: ((head: HeadMessage, call: Call) => () => StreamedResponse) | undefined
  /** True if the function may run statements of its own text. */
  readonly isTextAllowed?: boolean | undefined
  /** True if the transaction is rolled back, even after success. */
  readonly isUndone?: boolean | undefined
}

/** Observer of one call. */
export type CallObserver = Required<Pick<CallTerms, 'onLog'>> & {
  readonly onStatement: NonNullable<CallTerms['onStatement']>
}

/** Identity, and its statements in the transaction of a call. */
type Identified = Pick<AdminWork, 'caller' | 'statements'>

/** Request of a function for data. */
type CallRequest = DataRequest | SqlRequest | EnqueueRequest | SendRequest | StorageMessage

/** Database as one identity, in the transaction of a call. */
interface Handle extends Identified {
  readonly data: TransactionData
}

/** Call of a function, from its start to its one end. */
export class Call {
  /** Name of the call in messages, which no other code can guess. */
  readonly token = randomBytes(16).toString('base64url')
  readonly requestId: string
  readonly function: Pick<FunctionDescription, 'name'>
  readonly onLog: CallTerms['onLog']
  readonly #own: Handle
  readonly #openData: OpenData
  readonly #openAdmin: CallTerms['openAdmin']
  /** Handles of the administrator by their reasons. */
  readonly #admins = new Map<string, Handle>()
  readonly #check: CallTerms['check']
  readonly #enqueue: CallTerms['enqueue']
  readonly #isUndone: boolean
  readonly #isTextAllowed: boolean
  readonly #onStatement: CallTerms['onStatement']
  readonly #respond: CallTerms['respond']
  readonly #send: CallTerms['send']
  readonly #storage: CallTerms['storage']
  readonly #work: CallWork
  #pending = 0
  #pendingBytes = 0
  /** Error of the last request that the server could not serve, such as for a lost connection. */
  #unavailable: AppError | undefined
  readonly #outcome = Promise.withResolvers<CallOutcome>()
  #hasEnded = false
  #hasReturned = false

  constructor(description: Pick<FunctionDescription, 'name'>, terms: CallTerms) {
    const {
      caller,
      requestId,
      work,
      hooks,
      openData,
      enqueue,
      send,
      onLog,
      check,
      isUndone = false,
      isTextAllowed = true,
    } = terms
    this.#isUndone = isUndone
    this.#isTextAllowed = isTextAllowed
    this.#onStatement = terms.onStatement
    this.#check = check
    this.#respond = terms.respond
    this.#enqueue = enqueue
    this.#send = send
    this.#storage = terms.storage
    this.#work = work
    this.#openData = openData
    this.#openAdmin = terms.openAdmin
    this.#own = this.#openHandle({ caller, statements: work.statements, hooks })
    this.function = description
    this.onLog = onLog
    this.requestId = requestId
    // The caller waits for it later.
    this.#outcome.promise.catch(() => undefined)
  }

  /** Result of the function. It rejects with an AppError. */
  get outcome(): Promise<CallOutcome> {
    return this.#outcome.promise
  }

  /** True while the call keeps its transaction open. */
  get isOpen(): boolean {
    return !this.#hasEnded && this.#work.statements.isOpen
  }

  /** True once the child has reported the end of the function. */
  get hasReturned(): boolean {
    return this.#hasReturned
  }

  /** Handles a request of the function for data. It never rejects. */
  async handle(message: CallRequest): Promise<ReplyMessage> {
    const { id } = message
    if (this.#hasEnded) return failureReply(id, runtimeErrors.transactionEnded())
    const size = sizeOf(message)
    if (this.#pending >= pendingLimit)
      return failureReply(id, runtimeErrors.tooManyStatements(pendingLimit, 'statements'))
    // A statement that is alone may be as large as a frame.
    if (this.#pending > 0 && this.#pendingBytes + size > pendingByteLimit)
      return failureReply(id, runtimeErrors.tooManyStatements(pendingByteLimit, 'bytes'))
    this.#pending += 1
    this.#pendingBytes += size
    const startedAt = performance.now()
    let problem: string | undefined
    try {
      if (message.type === 'sql') {
        if (!this.#isTextAllowed)
          throw runtimeErrors.statementNotAllowed(
            'ctx.db.sql is not available here: the connection is that of the account. Use the tables of ctx.db, or a job',
          )
        const { statements } = this.#handleOf(message)
        return { type: 'rows', id, ...(await statements.runText(message.text, message.values)) }
      }
      if (message.type === 'enqueue') {
        const job = { id: await this.#enqueue(message, this.#work) }
        return { type: 'reply', id, status: 200, body: JSON.stringify(job) }
      }
      if (message.type === 'send') {
        await this.#send(message, this.#work)
        return { type: 'reply', id, status: 204, body: '' }
      }
      if (message.type === 'storage') {
        if (this.#storage === undefined) throw runtimeErrors.storageNotOffered()
        return { type: 'reply', id, ...(await this.#storage(message, this.#handleOf(message))) }
      }
      const { data, caller } = this.#handleOf(message)
      return { type: 'reply', id, ...(await serveData(data.collections, caller, message)) }
    } catch (error) {
      const failure = databaseErrorOf(error)
      const known = toAppError(error)
      problem = failure?.message ?? known.message
      if (known.status > 500) this.#unavailable = known
      // The author of the statement may read the message of PostgreSQL.
      return failureReply(id, known, known.status === 500 ? failure?.message : undefined)
    } finally {
      this.#pending -= 1
      this.#pendingBytes -= size
      this.#onStatement?.({
        text: describeMessage(message),
        durationMs: performance.now() - startedAt,
        error: problem,
      })
    }
  }

  /** Ends the call with the result of the function, after the commit. */
  async succeed({ value }: ResultMessage): Promise<void> {
    this.#hasReturned = true
    await this.#conclude(() => {
      this.#check(value)
      return () => value
    })
  }

  /** Ends the call with a response of the function. Its body follows the commit. */
  async respond(head: HeadMessage): Promise<void> {
    await this.#conclude(() => {
      if (this.#respond === undefined) throw new Error('only a route returns a Response or a stream')
      return this.#respond(head, this)
    })
  }

  /** @param check rejects the result before the commit, and returns the function that opens it afterwards */
  async #conclude(check: () => () => CallOutcome): Promise<void> {
    if (!this.#end()) return
    try {
      const open = check()
      if (this.#isUndone) await this.#undo()
      else {
        for (const { data } of [this.#own, ...this.#admins.values()]) this.#work.onCommit(data.announce)
        await this.#work.commit()
      }
      this.#outcome.resolve(open())
    } catch (error) {
      if (!this.#work.isNested) this.#work.rollback()
      this.#outcome.reject(toAppError(error))
    }
  }

  /** Ends the call with the error of the function. The transaction of another call continues. */
  async refuse(failure: FailureMessage): Promise<void> {
    this.#hasReturned = true
    // A function that lets such an error pass is not at fault.
    const isServer = failure.kind === 'failed' && failure.message === this.#unavailable?.message
    const error = (isServer && this.#unavailable) || errorOf(failure, this.function.name)
    if (!this.#work.isNested) {
      this.fail(error)
      return
    }
    if (!this.#end()) return
    await this.#work.statements.idle()
    this.#outcome.reject(error)
  }

  /** Ends the call, and rolls back its transaction. It does nothing once the commit has begun. */
  fail(error: AppError): void {
    if (!this.#work.rollback()) return
    this.#end()
    this.#outcome.reject(error)
  }

  /** Returns the handle that a request names. @throws AppError as_admin_refused */
  #handleOf({ reason }: Pick<DataRequest, 'reason'>): Handle {
    if (reason === undefined) return this.#own
    if (this.#openAdmin === undefined || reason.trim() === '' || !isStorableText(reason))
      throw runtimeErrors.asAdminRefused()
    const handle = this.#admins.get(reason) ?? this.#openHandle(this.#openAdmin(reason))
    this.#admins.set(reason, handle)
    return handle
  }

  #openHandle({ caller, statements, hooks }: AdminWork): Handle {
    const data = this.#openData(
      (_scope, steps, options) => (options.isRead ? statements.read(steps, options) : statements.run(steps)),
      hooks,
    )
    return { caller, statements, data }
  }

  /** Rolls back, after the checks of a commit. */
  async #undo(): Promise<void> {
    if (this.#work.statements.isOpen) await this.#work.statements.run([checkConstraints])
    this.#work.rollback()
  }

  #end(): boolean {
    if (this.#hasEnded) return false
    this.#hasEnded = true
    return true
  }
}

/** Returns the size of a waiting message in characters. */
function sizeOf(message: CallRequest): number {
  if (message.type === 'enqueue') return message.payload.length
  if (message.type === 'send') return message.body.length
  if (message.type === 'storage') return message.options.length + (message.content?.length ?? 0)
  if (message.type === 'request') return message.query.length + (message.body?.length ?? 0)
  return message.values.reduce((sum, value) => sum + (value?.length ?? 0), message.text.length)
}

/** Returns the text by which a person recognizes a request of a function. Values of statements are left out. */
function describeMessage(message: CallRequest): string {
  switch (message.type) {
    case 'sql':
      return message.text
    case 'enqueue':
      return `enqueue ${message.job}`
    case 'send':
      return message.kind
    case 'storage':
      return `storage ${message.action} ${message.bucket}/${message.name}`
    default:
      return `${message.method} /api/${message.path}${message.query === '' ? '' : `?${message.query}`}`
  }
}

/** Returns the error that a function has thrown. @param name of the function */
export function errorOf(
  { kind, status, message, error, data, stack }: Omit<FailureMessage, 'type' | 'call'>,
  name: string,
): AppError {
  if (kind === 'input') return runtimeErrors.invalidInput(message)
  if (kind === 'refused' && status !== undefined) {
    return new AppError(
      error ?? 'function_refused',
      status,
      message,
      data === undefined ? {} : { data: { ...data } },
    )
  }
  return runtimeErrors.functionFailed().with({ cause: new FunctionFailure(message, stack, name) })
}

/** Error of a function, for the log. */
export class FunctionFailure extends Error {
  override readonly name = 'FunctionFailure'
  readonly function: string

  constructor(message: string, stack: string | undefined, name: string) {
    super(message)
    this.stack = stack ?? message
    this.function = name
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
