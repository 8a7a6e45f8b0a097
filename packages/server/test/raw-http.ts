import { connect, type Socket } from 'node:net'

/** Response as received over the wire. */
export interface RawResponse {
  readonly status: number
  /** Headers by lower-case name, with all values of a repeated one. */
  readonly headers: ReadonlyMap<string, readonly string[]>
  readonly body: string
}

export interface RawExchange {
  /** Text that the server sent until the connection ended. */
  readonly text: string
  /** Milliseconds from connecting to the end. */
  readonly ms: number
}

/** Connection for bytes written by hand. */
export interface RawConnection {
  readonly socket: Socket
  write(text: string | Uint8Array): void
  /** Promise that resolves when the server has ended or refused the connection. */
  readonly ended: Promise<RawExchange>
}

export function openRaw(url: string): RawConnection {
  const { hostname, port } = new URL(url)
  const startedAt = performance.now()
  const chunks: Buffer[] = []
  const socket = connect({ host: hostname, port: Number(port) })
  const ended = new Promise<RawExchange>((resolve) => {
    socket.on('data', (chunk) => chunks.push(chunk))
    // A reset ends the connection like any other end. Bytes that arrived before count.
    socket.on('error', () => undefined)
    socket.on('close', () =>
      resolve({ text: Buffer.concat(chunks).toString('utf8'), ms: performance.now() - startedAt }),
    )
  })
  return {
    socket,
    ended,
    write: (text) => {
      if (socket.writable) socket.write(text)
    },
  }
}

/** Sends the text and returns the response. The request must make the server close the connection. */
export async function exchangeRaw(url: string, text: string | Uint8Array): Promise<RawResponse> {
  const connection = openRaw(url)
  connection.write(text)
  return parseRaw((await connection.ended).text)
}

/** Parses the first response of the text. */
export function parseRaw(text: string): RawResponse {
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) throw new Error(`no HTTP response: ${JSON.stringify(text)}`)
  const [statusLine = '', ...lines] = text.slice(0, end).split('\r\n')
  const headers = new Map<string, string[]>()
  for (const line of lines) {
    const colon = line.indexOf(':')
    const name = line.slice(0, colon).toLowerCase()
    headers.set(name, [...(headers.get(name) ?? []), line.slice(colon + 1).trim()])
  }
  return { status: Number(statusLine.split(' ')[1]), headers, body: text.slice(end + 4) }
}
