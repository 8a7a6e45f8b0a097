import { Readable } from 'node:stream'
import type { Submittable, Connection as WireConnection } from 'pg'
import pg from 'pg'
import { ConnectionLost } from '../errors/failures.ts'
import { StatementFailed } from './message.ts'

/** Texts around and between rows that make them a document. */
export interface RowFrame {
  readonly before: string
  readonly between: string
  readonly after: string
}

export interface CopiedRowsOptions {
  readonly frame: RowFrame
  /** Maximum number of rows; further ones are dropped. */
  readonly limit: number
  /** Time limit for all rows. PostgreSQL does not time out a statement that waits for its client. */
  readonly timeoutMs: number
  /** Longest time without a row, while the reader wants one. */
  readonly silenceMs: number
  /** Longest time without a read by the reader. */
  readonly stallMs: number
  /** Returns true if the reader has disconnected. */
  readonly isAbandoned: () => boolean
  /** Returns the error of the stream for a failed statement; by default the failure itself. */
  readonly explain?: (failure: StatementFailed) => Promise<Error>
  /** Releases the connection. It is called once, with true when its statement is still in flight. */
  readonly release: (isInFlight: boolean) => void
}

/** Thrown when the reader has read nothing for too long. */
export class ReaderStalled extends Error {
  override readonly name = 'ReaderStalled'
}

/** Thrown when all rows, or the next one, take too long. */
export class RowsOverdue extends Error {
  override readonly name = 'RowsOverdue'
}

/** Size of a batch. Passing rows on one by one would cost more than all the rest. */
const batchBytes = 64 * 1024
/** Longest time that the first row of a batch waits for others. */
const batchMs = 10

const checkMs = 250

/**
 * Rows of a COPY to the client as a byte stream. PostgreSQL sends each row as a message of its own (PostgreSQL,
 * Frontend/Backend Protocol, COPY Operations). The socket is read only as fast as the reader reads, so that a
 * slow reader slows the statement down and fills no memory. The stream ends without an error only after the
 * commit.
 */
export class CopiedRows extends Readable implements Submittable {
  readonly #command: string
  readonly #options: CopiedRowsOptions
  readonly #between: Buffer
  readonly #watch: NodeJS.Timeout
  #wire: WireConnection | undefined
  #batch: Buffer = Buffer.allocUnsafe(batchBytes)
  #filled = 0
  #flushing: NodeJS.Timeout | undefined
  #count = 0
  #isPaused = false
  #isReleased = false
  #hasFailed = false
  readonly #startedAt = performance.now()
  #movedAt = performance.now()
  #begin: (() => void) | undefined
  /** Resolves with the first row, or the end when there is none; rejects when the statement fails before. */
  readonly begun: Promise<void>

  /** @param command `copy (…) to stdout` and the end of its transaction */
  constructor(command: string, options: CopiedRowsOptions) {
    super({ highWaterMark: 4 * batchBytes })
    this.#command = command
    this.#options = options
    this.#between = Buffer.from(options.frame.between)
    this.#watch = setInterval(() => this.#check(), checkMs).unref()
    this.begun = new Promise((resolve, reject) => {
      this.#begin = resolve
      this.once('error', reject).once('close', resolve)
    })
    // It may be awaited late, or not at all when the stream is abandoned.
    this.begun.catch(() => undefined)
  }

  /** True if there were more rows than the limit; final when the stream has ended. */
  get isCut(): boolean {
    return this.#count > this.#options.limit
  }

  submit(wire: WireConnection): void {
    this.#wire = wire
    this.#append(Buffer.from(this.#options.frame.before))
    wire.query(this.#command)
  }

  // The driver calls these methods, which its types do not list.
  handleCopyData({ chunk }: { chunk: Buffer }): void {
    if (this.#isReleased) return
    this.#count += 1
    if (this.#count > this.#options.limit) return
    if (this.#count > 1) this.#append(this.#between)
    this.#append(chunk)
    this.#flushing ??= setTimeout(() => this.#flush(), batchMs)
    this.#begin?.()
  }

  handleError(error: Error): void {
    this.#hasFailed = true
    const fail = (failure: Error) => this.destroy(failure)
    if (!(error instanceof pg.DatabaseError)) {
      fail(new ConnectionLost('the database connection broke during a statement', { cause: error }))
      return
    }
    const failure = new StatementFailed(error, 0)
    const { explain } = this.#options
    // This happens before the stream is destroyed, so that a pipe attached later sees this error.
    if (explain === undefined) fail(failure)
    else explain(failure).then(fail, fail)
  }

  handleReadyForQuery(): void {
    if (this.destroyed || this.#hasFailed) return
    this.#append(Buffer.from(this.#options.frame.after))
    this.#flush()
    this.push(null)
    this.#begin?.()
    // A socket that stays paused would not notice that it is closed.
    this.#wire?.stream.resume()
    this.#release(false)
  }

  // These are results of the commands around the copy.
  handleRowDescription(): void {}
  handleDataRow(): void {}
  handleCommandComplete(): void {}
  handleEmptyQuery(): void {}
  handlePortalSuspended(): void {}

  override _read(): void {
    if (!this.#isPaused) return
    this.#isPaused = false
    this.#movedAt = performance.now()
    this.#wire?.stream.resume()
  }

  override _destroy(error: Error | null, callback: (error: Error | null) => void): void {
    if (!this.#isReleased) this.#release(true)
    callback(error)
  }

  #release(isInFlight: boolean): void {
    this.#isReleased = true
    clearInterval(this.#watch)
    clearTimeout(this.#flushing)
    this.#options.release(isInFlight)
  }

  /** Copies the bytes, because the parser reuses the memory of its messages. */
  #append(bytes: Buffer): void {
    if (bytes.length > batchBytes - this.#filled) this.#flush()
    if (bytes.length > batchBytes) {
      this.#hand(Buffer.from(bytes))
      return
    }
    this.#filled += bytes.copy(this.#batch, this.#filled)
  }

  #flush(): void {
    clearTimeout(this.#flushing)
    this.#flushing = undefined
    if (this.#filled === 0) return
    const batch = this.#batch.subarray(0, this.#filled)
    this.#batch = Buffer.allocUnsafe(batchBytes)
    this.#filled = 0
    this.#hand(batch)
  }

  #hand(bytes: Buffer): void {
    this.#movedAt = performance.now()
    if (this.push(bytes)) return
    this.#isPaused = true
    this.#wire?.stream.pause()
  }

  #check(): void {
    const { timeoutMs, stallMs, silenceMs, isAbandoned } = this.#options
    const now = performance.now()
    const forMs = now - this.#movedAt
    if (now - this.#startedAt > timeoutMs) this.destroy(new RowsOverdue('the rows take too long'))
    if (isAbandoned()) this.destroy(new ConnectionLost('the reader has disconnected'))
    if (this.#isPaused && forMs > stallMs) this.destroy(new ReaderStalled('the reader has taken nothing'))
    if (!this.#isPaused && forMs > silenceMs) this.destroy(new RowsOverdue('the database has sent nothing'))
  }
}
