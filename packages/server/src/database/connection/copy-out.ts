import { Readable } from 'node:stream'
import type { Submittable, Connection as WireConnection } from 'pg'

/**
 * What a command sends by the copy protocol, as a stream of its CopyData messages. Only as much is read from the
 * socket as the reader takes.
 */
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

  // Called by the driver, which its types do not list.
  handleCopyData({ chunk }: { chunk: Buffer }): void {
    // The parser reuses the memory of the message.
    if (!this.push(Buffer.from(chunk))) this.#wire?.stream.pause()
  }

  handleError(error: Error): void {
    this.destroy(error)
  }

  handleReadyForQuery(): void {
    this.push(null)
    // Nothing is read after the end: a socket that stayed paused would not notice that it is closed.
    this.#wire?.stream.resume()
  }

  // The result sets around the copy are of no use to the reader.
  handleRowDescription(): void {}
  handleDataRow(): void {}
  handleCommandComplete(): void {}
  handleEmptyQuery(): void {}
  handlePortalSuspended(): void {}
}
