import type { ChildMessage, DataRequest, ReplyMessage, Statement } from './wire.ts'

/** Requests of functions to the server, and their replies. */
export class Bridges {
  readonly #send: (message: ChildMessage) => void
  readonly #pending = new Map<number, (reply: ReplyMessage) => void>()
  #nextId = 0

  constructor(send: (message: ChildMessage) => void) {
    this.#send = send
  }

  /** Returns the bridge of one call, as `openDatabase` of a definition expects it. */
  open(call: string) {
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
        }))
        if (reply.type !== 'reply') throw new Error('the server has sent another reply')
        return { status: reply.status, body: reply.body, etag: reply.etag }
      },
      sql: async (text: Statement['text'], values: Statement['values']) => {
        const reply = await this.#ask((id) => ({ type: 'sql', call, id, text, values }))
        if (reply.type === 'rows') return { rows: reply.rows, count: reply.count }
        throw refusalOf(reply.body, reply.status)
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
function refusalOf(body: string, status: number): Error {
  const { message, error, data } = JSON.parse(body) as { message: string; error: string; data?: object }
  return Object.assign(new Error(message), { name: 'BasaltError', status, error, data })
}
