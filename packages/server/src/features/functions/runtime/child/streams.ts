import type { ChildMessage } from './wire.ts'

/** Maximum number of bytes of a chunk. In base64 it is far below the limit of a frame. */
const chunkBytes = 64 * 1024

/** Response that a handler has returned, without its body. */
export interface ResponseParts {
  readonly status: number
  readonly headers: readonly (readonly [name: string, value: string])[]
  readonly body: ReadableStream | null
}

/** Returns the parts of a response or stream; undefined for any other result, which is sent as JSON. */
export function responseOf(result: unknown): ResponseParts | undefined {
  if (result instanceof ReadableStream) return { status: 200, headers: [], body: result }
  if (!(result instanceof Response)) return undefined
  const headers = new Headers(result.headers)
  if (result.url !== '') {
    // `fetch` has decoded the body, and these headers describe it as it was sent.
    headers.delete('content-encoding')
    headers.delete('content-length')
  }
  return { status: result.status, headers: [...headers], body: result.body }
}

interface Sending {
  granted: number
  isCancelled: boolean
  wake: () => void
  readonly reader: ReadableStreamDefaultReader
}

/** Bodies of responses, which are sent as the server grants bytes. */
export class BodyStreams {
  readonly #send: (message: ChildMessage) => void
  readonly #sendings = new Map<string, Sending>()

  constructor(send: (message: ChildMessage) => void) {
    this.#send = send
  }

  /** Sends a body once the server grants bytes, which is after the commit. @throws TypeError if it is being read already */
  open(call: string, body: ReadableStream): void {
    const sending = { granted: 0, isCancelled: false, wake: () => {}, reader: body.getReader() }
    this.#sendings.set(call, sending)
    void this.#pump(call, sending)
  }

  grant(call: string, bytes: number): void {
    const sending = this.#sendings.get(call)
    if (sending === undefined) return
    sending.granted += bytes
    sending.wake()
  }

  /** Stops sending, and cancels the stream of the function. */
  cancel(call: string, reason: Error): void {
    const sending = this.#sendings.get(call)
    if (sending === undefined) return
    this.#sendings.delete(call)
    sending.isCancelled = true
    sending.wake()
    // It rejects if the stream has failed, or if its own `cancel` fails.
    sending.reader.cancel(reason).catch(() => undefined)
  }

  async #pump(call: string, sending: Sending): Promise<void> {
    try {
      // The function is read only on demand.
      while (await untilGranted(sending)) {
        const { done, value } = await sending.reader.read()
        if (sending.isCancelled) return
        if (done) {
          this.#sendings.delete(call)
          return this.#send({ type: 'end', call })
        }
        await this.#sendBytes(call, sending, bytesOf(value))
      }
    } catch (error) {
      if (sending.isCancelled) return
      this.#sendings.delete(call)
      this.#send({ type: 'end', call, failure: describe(error) })
      sending.reader.cancel(error).catch(() => undefined)
    }
  }

  async #sendBytes(call: string, sending: Sending, bytes: Buffer): Promise<void> {
    for (let offset = 0; offset < bytes.length && (await untilGranted(sending)); ) {
      const chunk = bytes.subarray(offset, offset + Math.min(chunkBytes, sending.granted))
      offset += chunk.length
      sending.granted -= chunk.length
      this.#send({ type: 'chunk', call, bytes: chunk.toString('base64') })
    }
  }
}

/** Waits until bytes are granted. @returns false if the stream has been cancelled */
async function untilGranted(sending: Sending): Promise<boolean> {
  while (sending.granted === 0 && !sending.isCancelled) {
    await new Promise<void>((resolve) => {
      sending.wake = resolve
    })
  }
  return !sending.isCancelled
}

/** Returns the bytes of a chunk. @throws TypeError */
function bytesOf(chunk: unknown): Buffer {
  if (typeof chunk === 'string') return Buffer.from(chunk)
  if (ArrayBuffer.isView(chunk)) return Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
  if (chunk instanceof ArrayBuffer) return Buffer.from(chunk)
  const kind = chunk === null ? 'null' : typeof chunk
  throw new TypeError(`the stream of a response has a chunk of the type ${kind}; expected bytes or a text`)
}

function describe(thrown: unknown) {
  if (!(thrown instanceof Error)) return { message: `thrown: ${String(thrown).slice(0, 1000)}` }
  const message = String(thrown.message)
  return { message, stack: String(thrown.stack ?? message) }
}
