import { createServer, type Socket } from 'node:net'
import { failure, greeting, int16, int32, message, ready, text } from './postgres-wire.ts'

/** Server that speaks enough of the Postgres protocol to greet a client and to respond to its first query. */
export interface FakePostgres extends AsyncDisposable {
  readonly port: number
  /** Counts the connected clients. */
  connections(): number
  /** Returns true if a client has sent a query. */
  isQueried(): boolean
}

export interface FakePostgresOptions {
  /** Row of the response to the first query: texts by column name. */
  readonly row?: Readonly<Record<string, string>>
  /** True to reject every password. */
  readonly refusesPasswords?: boolean
  /** True to accept connections and never send anything. */
  readonly isSilent?: boolean
  /** True to greet clients and respond to no query. */
  readonly answersNothing?: boolean
  /** True to end each message of the extended query protocol without any result. */
  readonly hasNoResults?: boolean
}

export async function startFakePostgres(options: FakePostgresOptions): Promise<FakePostgres> {
  const sockets = new Set<Socket>()
  let isQueried = false
  const listener = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.on('close', () => sockets.delete(socket))
    let isGreeted = false
    socket.on('data', (chunk) => {
      if (options.isSilent === true) return
      if (!isGreeted) {
        isGreeted = true
        socket.write(options.refusesPasswords === true ? requestPassword() : greeting(1))
      } else if (options.refusesPasswords === true) {
        socket.end(failure('28P01', 'password authentication failed for user "app"'))
      } else if (chunk[0] === 'Q'.charCodeAt(0)) {
        isQueried = true
        if (options.answersNothing !== true) socket.write(answer(options.row ?? {}))
      } else if (options.hasNoResults === true) {
        socket.write(ready())
      }
    })
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const address = listener.address()
  if (typeof address !== 'object' || address === null) throw new Error('the server has no port')
  return {
    port: address.port,
    connections: () => sockets.size,
    isQueried: () => isQueried,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => listener.close(resolve))
    },
  }
}

function requestPassword(): Buffer {
  const clearText = 3
  return message('R', int32(clearText))
}

function answer(row: Readonly<Record<string, string>>): Buffer {
  const columns = Object.entries(row)
  const description = columns.map(([name, value]) =>
    Buffer.concat([text(name), int32(0), int16(0), int32(typeOf(value)), int16(-1), int32(-1), int16(0)]),
  )
  const values = columns.map(([, value]) =>
    Buffer.concat([int32(Buffer.byteLength(value)), Buffer.from(value)]),
  )
  return Buffer.concat([
    message('T', Buffer.concat([int16(columns.length), ...description])),
    message('D', Buffer.concat([int16(columns.length), ...values])),
    message('C', text('SELECT 1')),
    ready(),
  ])
}

/** Returns the object id of bool, int4 or text. */
function typeOf(value: string): number {
  if (value === 't' || value === 'f') return 16
  return /^\d+$/.test(value) ? 23 : 25
}
