import { Readable } from 'node:stream'

/** Number of bytes of a body that may be on their way: granted to the function, or waiting for the client. */
export const windowBytes = 256 * 1024

/** Size of chunks that are joined while others wait. Each chunk takes memory beside its bytes. */
const tinyBytes = 4 * 1024
const joinedBytes = 16 * 1024

export interface BodyOptions {
  /** Longest time in which neither the function sends nor the client reads. */
  readonly idleMs: number
  /** Number of bytes that the head of the response promises. */
  readonly length: number | undefined
  /** Grants bytes to the function. It sends no others. */
  readonly grant: (bytes: number) => void
  /** Called once, at the end or when the body is cut. @param error reason of the cut; undefined if the client has disconnected */
  readonly onEnd: (error: Error | undefined) => void
}

/**
 * Body of a response that a function streams. It emits `begin` when the client begins to receive. The function sends only bytes that were granted, and they are granted as the client
 * reads. So a slow client bounds the memory of both processes.
 */
export class ResponseBody extends Readable {
  readonly #options: BodyOptions
  readonly #idle: NodeJS.Timeout
  #hasBegun = false
  #granted = 0
  #received = 0
  /** Tiny chunks that wait until the others are read. */
  #joined: Buffer | undefined
  #joinedLength = 0

  constructor(options: BodyOptions) {
    super({ highWaterMark: windowBytes / 2 })
    this.#options = options
    this.#idle = setTimeout(() => this.cut(new Error(this.#describeSilence())), options.idleMs).unref()
    // The reader of the body sees the cut. Without a reader it has no effect.
    this.on('error', () => undefined)
  }

  /** Adds bytes of the function. */
  receive(chunk: Buffer): void {
    if (this.destroyed || this.readableEnded) return
    const { length = Number.POSITIVE_INFINITY } = this.#options
    this.#granted -= chunk.length
    this.#received += chunk.length
    if (chunk.length === 0 || this.#granted < 0) {
      this.cut(new Error('the process of the functions has sent bytes that were not granted'))
    } else if (this.#received > length) {
      this.cut(new Error(`the body has more bytes than its Content-Length of ${length}`))
    } else {
      this.#idle.refresh()
      this.#add(chunk)
    }
  }

  #add(chunk: Buffer): void {
    const isTiny = chunk.length < tinyBytes && this.readableLength > 0
    if (!isTiny || this.#joinedLength + chunk.length > joinedBytes) this.#pushJoined()
    if (isTiny) {
      this.#joined ??= Buffer.alloc(joinedBytes)
      this.#joinedLength += chunk.copy(this.#joined, this.#joinedLength)
    } else this.push(chunk)
  }

  #pushJoined(): void {
    if (this.#joined === undefined || this.#joinedLength === 0) return
    const chunk = Buffer.from(this.#joined.subarray(0, this.#joinedLength))
    this.#joinedLength = 0
    this.push(chunk)
  }

  override read(size?: number): Buffer | null {
    const chunk: Buffer | null = super.read(size)
    if (chunk !== null) this.#idle.refresh()
    if (this.readableLength === 0) this.#pushJoined()
    return chunk
  }

  /** Ends the body after the bytes that were received. */
  finish(): void {
    if (this.destroyed) return
    const { length = this.#received } = this.#options
    if (this.#received === length) {
      this.#pushJoined()
      this.push(null)
    } else this.cut(new Error(`the body has ${this.#received} bytes; its Content-Length is ${length}`))
  }

  /** Cuts the body, and with it the connection of the client. */
  cut(error: Error): void {
    this.destroy(error)
  }

  override _read(): void {
    if (!this.#hasBegun) {
      this.#hasBegun = true
      this.emit('begin')
    }
    this.#idle.refresh()
    const free = windowBytes - this.readableLength - this.#joinedLength - this.#granted
    // Without a grant no chunk would cause the next read.
    const bytes = this.#granted === 0 ? Math.max(free, windowBytes / 4) : free
    if (this.#granted > 0 && bytes < windowBytes / 2) return
    this.#granted += bytes
    this.#options.grant(bytes)
  }

  override _destroy(error: Error | null, callback: (error?: Error | null) => void): void {
    clearTimeout(this.#idle)
    this.#options.onEnd(error ?? undefined)
    callback(error)
  }

  #describeSilence(): string {
    const seconds = this.#options.idleMs / 1000
    const side =
      this.#granted > 0 && this.readableLength === 0 ? 'the function has sent' : 'the client has read'
    return `${side} nothing for ${seconds} s`
  }
}
