import { WebSocket } from 'ws'
import { waitFor } from './wait-for.ts'

/** Message of the server. */
// biome-ignore lint/suspicious/noExplicitAny: assertions name what they expect of it
export type ServerMessage = any

export interface WebSocketClient extends AsyncDisposable {
  readonly socket: WebSocket
  /** Messages received so far, in order. */
  readonly messages: readonly ServerMessage[]
  /** Code and reason, once closed. */
  readonly closed: { readonly code: number; readonly reason: string } | undefined
  readonly pings: number
  /** Sends an object as JSON, and a text or bytes unchanged. */
  send(message: object | string | Uint8Array): void
  /** Sends a request with a `ref` of its own. Returns its reply. */
  request(message: object): Promise<ServerMessage>
  /** Returns the messages of this type. */
  ofType(type: string): readonly ServerMessage[]
  /** Waits until this number of messages of the type has arrived. */
  next(type: string, count?: number): Promise<readonly ServerMessage[]>
  /** Waits until the connection is closed. */
  ended(timeoutMs?: number): Promise<{ readonly code: number; readonly reason: string }>
}

export interface WebSocketClientOptions {
  /** Token for the header. */
  readonly token?: string | undefined
  readonly query?: string
  readonly path?: string
  /** Offered subprotocol. */
  readonly protocol?: string
  readonly headers?: Readonly<Record<string, string>>
  /** True to respond to pings. */
  readonly autoPong?: boolean
}

/** Response to a handshake that the server rejects. */
export class HandshakeRefused extends Error {
  readonly status: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  readonly body: string

  constructor(status: number, headers: HandshakeRefused['headers'], body: string) {
    super(`the handshake was refused: ${status} ${body}`)
    this.status = status
    this.headers = headers
    this.body = body
  }
}

let refs = 0

/** Opens a WebSocket. Resolves after the handshake. @throws HandshakeRefused */
export async function openWebSocket(
  base: string,
  {
    token,
    query = '',
    path = '/api/realtime/ws',
    protocol,
    headers = {},
    autoPong = true,
  }: WebSocketClientOptions = {},
): Promise<WebSocketClient> {
  const messages: ServerMessage[] = []
  let closed: { code: number; reason: string } | undefined
  let pings = 0
  const url = `${base.replace(/^http/, 'ws')}${path}${query}`
  const socket = new WebSocket(url, protocol === undefined ? [] : [protocol], {
    autoPong,
    headers: { ...(token === undefined ? {} : { authorization: `Bearer ${token}` }), ...headers },
  })
  socket.on('message', (data) => messages.push(JSON.parse(String(data))))
  socket.on('ping', () => {
    pings += 1
  })
  socket.on('close', (code, reason) => {
    closed = { code, reason: String(reason) }
  })
  await new Promise<void>((resolve, reject) => {
    socket.once('open', resolve)
    socket.on('error', reject)
    socket.once('unexpected-response', (_request, response) => {
      const chunks: Buffer[] = []
      response.on('data', (chunk: Buffer) => chunks.push(chunk))
      response.on('end', () =>
        reject(
          new HandshakeRefused(response.statusCode ?? 0, response.headers, Buffer.concat(chunks).toString()),
        ),
      )
    })
  })
  const client: WebSocketClient = {
    socket,
    messages,
    get closed() {
      return closed
    },
    get pings() {
      return pings
    },
    send(message) {
      const isRaw = typeof message === 'string' || message instanceof Uint8Array
      socket.send(isRaw ? message : JSON.stringify(message))
    },
    request(message) {
      refs += 1
      const ref = `r${refs}`
      client.send({ ref, ...message })
      return waitFor(`the reply to ${JSON.stringify(message).slice(0, 200)}`, () =>
        messages.find((candidate) => candidate.type === 'reply' && candidate.ref === ref),
      )
    },
    ofType: (type) => messages.filter((message) => message.type === type),
    next: (type, count = 1) =>
      waitFor(`${count} messages ${type}`, () => {
        const found = client.ofType(type)
        return found.length >= count ? found : undefined
      }),
    ended: (timeoutMs) => waitFor('the end of the WebSocket', () => closed, timeoutMs),
    async [Symbol.asyncDispose]() {
      socket.terminate()
      await client.ended()
    },
  }
  return client
}
