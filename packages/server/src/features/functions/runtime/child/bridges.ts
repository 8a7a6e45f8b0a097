import type {
  ChildMessage,
  DataRequest,
  NewJob,
  NewMessage,
  ReplyMessage,
  Statement,
  StorageAction,
  StorageReply,
} from './wire.ts'

/** Requests of one call. */
export type CallBridge = ReturnType<Bridges['open']>

/** Requests of functions to the server, and their replies. */
export class Bridges {
  readonly #send: (message: ChildMessage) => void
  readonly #pending = new Map<number, (reply: ReplyMessage) => void>()
  #nextId = 0

  constructor(send: (message: ChildMessage) => void) {
    this.#send = send
  }

  /**
   * Returns the bridge of one call, as `openDatabase` of a definition expects it.
   *
   * @param reason for statements as the administrator
   */
  open(call: string, reason?: string) {
    const asAdmin = reason === undefined ? {} : { reason }
    return {
      request: async ({ method, path, query, body, ifMatch }: DataRequest) => {
        const optional = {
          ...(body === undefined ? {} : { body }),
          ...(ifMatch === undefined ? {} : { ifMatch }),
        }
        const reply = await this.#ask((id) => ({
          type: 'request',
          call,
          id,
          method,
          path,
          query,
          ...optional,
          ...asAdmin,
        }))
        if (reply.type !== 'reply') throw new Error('the server has sent another reply')
        return { status: reply.status, body: reply.body, etag: reply.etag }
      },
      sql: async (text: Statement['text'], values: Statement['values']) => {
        const reply = await this.#ask((id) => ({ type: 'sql', call, id, text, values, ...asAdmin }))
        if (reply.type === 'rows') return { rows: reply.rows, count: reply.count }
        throw refusalOf(reply)
      },
      addressesOf: async (host: string) => {
        const reply = await this.#ask((id) => ({ type: 'target', call, id, host }))
        if (reply.type !== 'addresses') throw refusalOf(reply)
        if (reply.error !== undefined) throw new Error(`ctx.fetch: ${host}: ${reply.error}`)
        return { addresses: reply.addresses, stub: reply.stub }
      },
      /** Adds a message in the transaction of the call. */
      send: async (kind: NewMessage['kind'], message: unknown) => {
        const body = JSON.stringify(message) ?? 'null'
        const reply = await this.#ask((id) => ({ type: 'send', call, id, kind, body }))
        if (reply.type !== 'reply' || reply.status !== 204) throw refusalOf(reply)
      },
      /** Sends a request of `ctx.storage`. */
      storage: async (action: StorageAction): Promise<StorageReply> => {
        const reply = await this.#ask((id) => ({ type: 'storage', call, id, ...action, ...asAdmin }))
        if (reply.type !== 'reply' || reply.status !== 200) throw refusalOf(reply)
        return reply
      },
      /** Adds a job in the transaction of the call. @returns its id */
      enqueue: async (job: NewJob) => {
        const reply = await this.#ask((id) => ({ type: 'enqueue', call, id, ...job }))
        if (reply.type !== 'reply' || reply.status !== 200) throw refusalOf(reply)
        return (JSON.parse(reply.body) as { id: string }).id
      },
    }
  }

  receive(reply: ReplyMessage): void {
    this.#pending.get(reply.id)?.(reply)
    this.#pending.delete(reply.id)
  }

  #ask(message: (id: number) => ChildMessage): Promise<ReplyMessage> {
    const id = this.#nextId
    this.#nextId += 1
    return new Promise((resolve) => {
      this.#send(message(id))
      this.#pending.set(id, resolve)
    })
  }
}

/** Returns the error of a refused statement, which has the members of the envelope. */
function refusalOf(reply: ReplyMessage): Error {
  if (reply.type !== 'reply') return new Error('the server has sent another reply')
  const { status, body } = reply
  const { message, error, data } = JSON.parse(body) as { message: string; error: string; data?: object }
  return Object.assign(new Error(message), { name: 'BasaltError', status, error, data })
}
