import type { Writable } from 'node:stream'

/** Frames on the socket between server and child: a length of 4 bytes, big-endian, and JSON in UTF-8. */

/** Maximum number of bytes of a frame without its length. */
export const frameLimit = 16 * 1024 * 1024

const lengthBytes = 4

/** Encodes a message. @throws RangeError if it is longer than a frame may be */
export function encodeFrame(message: object): Buffer {
  const text = JSON.stringify(message)
  const length = Buffer.byteLength(text)
  if (length > frameLimit) throw new RangeError(`a message has ${length} bytes; the limit is ${frameLimit}`)
  const frame = Buffer.allocUnsafe(lengthBytes + length)
  frame.writeUInt32BE(length)
  frame.write(text, lengthBytes)
  return frame
}

/** Writes frames. Those of one tick of the event loop are one write, because each write wakes up the other process. */
export class FrameWriter {
  readonly #socket: Writable
  #isGathering = false

  constructor(socket: Writable) {
    this.#socket = socket
  }

  /** Writes a message at the end of this tick. @throws RangeError if it is longer than a frame may be */
  write(message: object): void {
    const frame = encodeFrame(message)
    if (!this.#isGathering) {
      this.#isGathering = true
      this.#socket.cork()
      setImmediate(() => this.flush())
    }
    this.#socket.write(frame)
  }

  /** Writes the waiting frames at once. The end of this tick never comes if the process ends or hangs. */
  flush(): void {
    if (!this.#isGathering) return
    this.#isGathering = false
    this.#socket.uncork()
  }
}

/** Reads frames from the chunks of a stream. */
export class FrameReader {
  readonly #receive: (message: unknown) => void
  #chunks: Buffer[] = []
  #size = 0

  /** @param receive gets the parsed JSON of each frame */
  constructor(receive: (message: unknown) => void) {
    this.#receive = receive
  }

  /** Adds a chunk and passes on the frames that it completes. @throws Error if a frame is malformed or too long */
  push(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#size += chunk.length
    while (this.#size >= lengthBytes) {
      const head = this.#join(lengthBytes)
      const length = head.readUInt32BE()
      if (length > frameLimit)
        throw new RangeError(`a frame announces ${length} bytes; the limit is ${frameLimit}`)
      const total = lengthBytes + length
      if (this.#size < total) return
      const bytes = this.#join(total)
      this.#chunks = bytes.length === total ? [] : [bytes.subarray(total), ...this.#chunks.slice(1)]
      this.#size -= total
      this.#receive(JSON.parse(bytes.toString('utf8', lengthBytes, total)))
    }
  }

  /** Returns the first chunk, which has at least these bytes after the call. */
  #join(bytes: number): Buffer {
    const [first = Buffer.alloc(0)] = this.#chunks
    if (first.length >= bytes) return first
    const joined = Buffer.concat(this.#chunks)
    this.#chunks = [joined]
    return joined
  }
}
