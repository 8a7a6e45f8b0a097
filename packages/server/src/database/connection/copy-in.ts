import type { Duplex } from 'node:stream'
import pg, { type Submittable, type Connection as WireConnection } from 'pg'
import { serialize } from 'pg-protocol'
import { ConnectionLost } from '../errors/failures.ts'

export type RowSource = Iterable<Buffer> | AsyncIterable<Buffer>

/**
 * Sends the rows of a source by the copy protocol (PostgreSQL, COPY Operations). It reads the source only as
 * fast as the socket accepts. A source that fails undoes the command.
 */
export class CopyIn implements Submittable {
  readonly #text: string
  readonly #source: RowSource
  readonly #ended = Promise.withResolvers<void>()
  #failure: unknown

  /** @param text of a `copy … from stdin` */
  constructor(text: string, source: RowSource) {
    this.#text = text
    this.#source = source
    // A later await of `ended` still gets the failure.
    this.#ended.promise.catch(() => undefined)
  }

  /**
   * Resolves when the command has ended.
   *
   * @throws pg.DatabaseError, ConnectionLost, or the error of the source
   */
  get ended(): Promise<void> {
    return this.#ended.promise
  }

  submit(wire: WireConnection): void {
    wire.query(this.#text)
  }

  // The driver calls these methods, which its types do not list.
  handleCopyInResponse(wire: WireConnection): void {
    void this.#send(wire)
  }

  async #send({ stream }: WireConnection): Promise<void> {
    try {
      for await (const chunk of this.#source) {
        // The command has failed: further data would be skipped, or read as a part of the next command.
        if (this.#failure !== undefined || stream.destroyed) break
        if (!stream.write(serialize.copyData(chunk))) await drained(stream)
      }
      if (this.#failure === undefined) stream.write(serialize.copyDone())
    } catch (error) {
      if (this.#failure !== undefined) return
      this.#failure = error
      stream.write(serialize.copyFail('the source of the rows failed'))
    }
  }

  handleError(error: unknown): void {
    if (!(error instanceof pg.DatabaseError)) {
      this.#failure ??= new ConnectionLost('the database connection broke during a copy', { cause: error })
    }
    this.#failure ??= error
    this.#ended.reject(this.#failure)
  }

  handleReadyForQuery(): void {
    this.#ended.resolve()
  }

  handleCommandComplete(): void {}
  handleCopyData(): void {}
  handleRowDescription(): void {}
  handleDataRow(): void {}
  handleEmptyQuery(): void {}
  handlePortalSuspended(): void {}
}

/** Resolves when the socket accepts more, or is closed. */
async function drained(stream: Duplex): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  stream.once('drain', resolve).once('close', resolve)
  await promise
  stream.off('drain', resolve).off('close', resolve)
}
