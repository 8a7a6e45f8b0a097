import { connect, type Socket } from 'node:net'
import type { BenchRequest } from './cases.ts'

/** Buffer of all connections of a process: each read is consumed before the next one begins. */
const readBuffer = Buffer.allocUnsafe(1 << 20)

/** Statuses of successful responses. */
const goodStatuses = [200, 201]

/**
 * Keep-alive connection with one request at a time. A full HTTP client would need more of the machine than the measured
 * server.
 */
export class RawConnection {
  readonly #socket: Socket
  readonly #statuses: readonly number[]
  #receive: ((body: string, status: number) => void) | undefined
  #wantsBody = false
  #chunks: Buffer[] = []
  /** Remaining bytes of the response; 0 between responses. */
  #missing = 0
  #status = 0

  /** @param statuses expected statuses; any other one throws */
  constructor({ hostname, port }: URL, statuses: readonly number[] = goodStatuses) {
    this.#statuses = statuses
    this.#socket = connect({
      host: hostname,
      port: Number(port),
      noDelay: true,
      onread: {
        buffer: readBuffer,
        callback: (length, buffer) => {
          // `buffer` above determines its type.
          this.#read((buffer as Buffer).subarray(0, length))
          return true
        },
      },
    })
    this.#socket.on('error', (error) => {
      throw error
    })
  }

  /** @param receive called with an empty text unless the body is wanted */
  send(request: Buffer, receive: (body: string, status: number) => void, wantsBody = false): void {
    this.#receive = receive
    this.#wantsBody = wantsBody
    this.#socket.write(request)
  }

  close(): void {
    this.#socket.destroy()
  }

  #read(chunk: Buffer): void {
    if (this.#missing === 0) this.#begin(chunk)
    this.#missing -= chunk.length
    if (this.#wantsBody) this.#chunks.push(Buffer.from(chunk))
    if (this.#missing > 0) return
    const response = Buffer.concat(this.#chunks.splice(0))
    this.#receive?.(response.toString('utf8', response.indexOf('\r\n\r\n') + 4), this.#status)
  }

  #begin(chunk: Buffer): void {
    const headEnd = chunk.indexOf('\r\n\r\n')
    const head = chunk.toString('latin1', 0, headEnd)
    this.#status = Number(/^HTTP\/1.1 (\d+) /.exec(head)?.[1])
    if (!this.#statuses.includes(this.#status)) throw new Error(chunk.toString('utf8'))
    this.#missing = headEnd + 4 + Number(/content-length: (\d+)/i.exec(head)?.[1])
  }
}

export function renderRequest(
  { host }: URL,
  token: string,
  { method, path, body, headers = {} }: BenchRequest,
): Buffer {
  const head = [`${method} ${path} HTTP/1.1`, `Host: ${host}`]
  if (token !== '') head.push(`Authorization: Bearer ${token}`)
  for (const [name, value] of Object.entries(headers)) head.push(`${name}: ${value}`)
  if (body !== undefined)
    head.push('Content-Type: application/json', `Content-Length: ${Buffer.byteLength(body)}`)
  return Buffer.from(`${head.join('\r\n')}\r\n\r\n${body ?? ''}`)
}
