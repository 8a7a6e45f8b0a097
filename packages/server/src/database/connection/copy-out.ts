import { Readable } from 'node:stream'
import type { Submittable, Connection as WireConnection } from 'pg'

/** CopyData messages of a command as a stream. The socket is read only as fast as the reader reads. */
export class CopyOut extends Readable implements Submittable {
  readonly #text: string
  #wire: WireConnection | undefined

  constructor(text: string) {
    super({ objectMode: true, highWaterMark: 16 })
    this.#text = text
  }

  submit(wire: WireConnection): void {
    this.#wire = wire
    wire.query(this.#text)
  }

  override _read(): void {
    this.#wire?.stream.resume()
  }

  // The driver calls these methods, which its types do not list.
  handleCopyData({ chunk }: { chunk: Buffer }): void {
    // The parser reuses the memory of the message.
    if (!this.push(Buffer.from(chunk))) this.#wire?.stream.pause()
  }

  handleError(error: Error): void {
    this.destroy(error)
  }

  handleReadyForQuery(): void {
    this.push(null)
    // Nothing is read after the end, and a socket that stays paused would not notice that it is closed.
    this.#wire?.stream.resume()
  }

  // These are results of the commands around the copy, which the reader does not need.
  handleRowDescription(): void {}
  handleDataRow(): void {}
  handleCommandComplete(): void {}
  handleEmptyQuery(): void {}
  handlePortalSuspended(): void {}
}
