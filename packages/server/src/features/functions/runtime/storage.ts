import type { Identity } from '../../../http/access/identity.ts'
import { isObject } from '../../../lib/json.ts'
import type { Caller } from '../../data/collections/index.ts'
import type { FunctionStorage } from '../../files/storage/index.ts'
import { secondsOfJob } from './jobs.ts'
import type { FunctionDescription, ReplyMessage, StorageMessage } from './messages.ts'
import type { Seals } from './seals.ts'
import { Slots } from './slots.ts'
import type { CallWork, Statements } from './transaction.ts'

/** Maximum number of downloads whose bytes are read at once. */
const readLimit = 8

/** Response to `ctx.storage`. */
export type StorageReply = Pick<Extract<ReplyMessage, { type: 'reply' }>, 'status' | 'body' | 'content'>

/** Caller of `ctx.storage`, and the transaction of the call. */
export interface StorageUse {
  readonly caller: Caller
  readonly statements: Statements
  readonly work: CallWork
  /** Identity of the request; undefined for a caller without one, such as a job. */
  readonly identity: Identity | undefined
  readonly function: Pick<FunctionDescription, 'name' | 'timeout'> & { readonly kind?: string }
  /** Time limit of functions that are no jobs. */
  readonly timeout: number
}

/** Serves `ctx.storage` by the code of the files API, in the transactions of calls. */
export class CallStorage {
  readonly #storage: FunctionStorage
  readonly #seals: Seals
  readonly #reads = new Slots(() => readLimit)

  constructor(storage: FunctionStorage, seals: Seals) {
    this.#storage = storage
    this.#seals = seals
  }

  /** @throws AppError, StatementFailed */
  async serve(
    { action, bucket, name, options: text, content }: StorageMessage,
    { caller, statements, work, identity, function: description, timeout }: StorageUse,
  ): Promise<StorageReply> {
    const options: unknown = JSON.parse(text)
    const request = {
      ...{ action, bucket, name },
      options: isObject(options) ? options : {},
      content: content === undefined ? undefined : Buffer.from(content, 'base64'),
    }
    const response = await this.#storage.serve(request, {
      ...{ scope: caller.scope, identity, statements },
      seconds: isLong(description) ? secondsOfJob(description) : timeout,
      whileReading: (read) => this.#whileReading(description.name, read),
      seal: (sealed) => this.#seals.of(sealed),
      onCommit: (listener) => work.onCommit(listener),
      onEnd: (listener) => work.onEnd(listener),
    })
    const bytes = response.content?.toString('base64')
    return { status: 200, body: response.body, ...(bytes === undefined ? {} : { content: bytes }) }
  }

  /** @param name of the function that reads, so that many calls of one do not delay the others */
  async #whileReading<Result>(name: string, read: () => Promise<Result>): Promise<Result> {
    await this.#reads.acquire(name, new AbortController().signal)
    try {
      return await read()
    } finally {
      this.#reads.release()
    }
  }
}

/** Returns true for functions with a time limit beside `functions.timeout`. */
function isLong({ kind = '' }: StorageUse['function']): boolean {
  return ['job', 'schedule', 'after'].includes(kind)
}
