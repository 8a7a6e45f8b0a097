import { Readable } from 'node:stream'
import type { Submittable, Connection as WireConnection } from 'pg'
import pg from 'pg'
import { ConnectionLost } from '../errors/failures.ts'
import { StatementFailed } from './message.ts'

/** What stands around and between rows, so that together they are a document. */
export interface RowFrame {
  readonly before: string
  readonly between: string
  readonly after: string
}

export interface CopiedRowsOptions {
  readonly frame: RowFrame
  /** Rows after so many are left out. */
  readonly limit: number
  /** Longest time for all of them: PostgreSQL does not time a statement out that waits for its client. */
  readonly timeoutMs: number
  /** Longest time without a row, while the reader wants one. */
  readonly silenceMs: number
  /** Longest time without the reader taking anything. */
  readonly stallMs: number
  /** Whether the reader has disconnected. */
  readonly isAbandoned: () => boolean
  /** The error of the stream, in place of a statement that failed; by default that itself. */
  readonly explain?: (failure: StatementFailed) => Promise<Error>
  /** Called once, when the connection is no longer needed; with true when its statement is still in flight. */
  readonly release: (isInFlight: boolean) => void
}

/** The reader has taken nothing for too long. */
export class ReaderStalled extends Error {
  override readonly name = 'ReaderStalled'
}

/** The rows take too long, or the next one does. */
export class RowsOverdue extends Error {
  override readonly name = 'RowsOverdue'
}

/** Rows are handed on together: one by one they would cost more than all the rest. */
const batchBytes = 64 * 1024
/** How long the first of them waits for the others. */
const batchMs = 10

const lookMs = 250

/**
 * The rows of a COPY to the client, which sends each as a message of its own (PostgreSQL, Frontend/Backend Protocol, COPY
 * Operations), as a stream of bytes. Only as much is read from the socket as the reader takes, so that a slow reader
 * slows the statement down and fills no memory. Ends without an error only after the commit.
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

  /** @param command `copy (…) to stdout` and what ends its transaction */
  constructor(command: string, options: CopiedRowsOptions) {
    super({ highWaterMark: 4 * batchBytes })
    this.#command = command
    this.#options = options
    this.#between = Buffer.from(options.frame.between)
    this.#watch = setInterval(() => this.#look(), lookMs).unref()
    this.begun = new Promise((resolve, reject) => {
      this.#begin = resolve
      this.once('error', reject).once('close', resolve)
    })
    // It may be awaited late, or not at all when the rows are given up.
    this.begun.catch(() => undefined)
  }

  /** Whether there were more rows than the limit; final when the stream has ended. */
  get isCut(): boolean {
    return this.#count > this.#options.limit
  }

  submit(wire: WireConnection): void {
    this.#wire = wire
    this.#append(Buffer.from(this.#options.frame.before))
    wire.query(this.#command)
  }

  // Called by the driver, which its types do not list.
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
    // Before the stream is destroyed: a pipe that is attached later sees the error that it was destroyed with.
    if (explain === undefined) fail(failure)
    else explain(failure).then(fail, fail)
  }

  handleReadyForQuery(): void {
    if (this.destroyed || this.#hasFailed) return
    this.#append(Buffer.from(this.#options.frame.after))
    this.#flush()
    this.push(null)
    this.#begin?.()
    // A socket that stayed paused would not notice that it is closed.
    this.#wire?.stream.resume()
    this.#release(false)
  }

  // The answers to the commands around the copy.
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

  /** Copies the bytes: the parser reuses the memory of its messages. */
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

  #look(): void {
    const { timeoutMs, stallMs, silenceMs, isAbandoned } = this.#options
    const now = performance.now()
    const forMs = now - this.#movedAt
    if (now - this.#startedAt > timeoutMs) this.destroy(new RowsOverdue('the rows take too long'))
    if (isAbandoned()) this.destroy(new ConnectionLost('the reader has disconnected'))
    if (this.#isPaused && forMs > stallMs) this.destroy(new ReaderStalled('the reader has taken nothing'))
    if (!this.#isPaused && forMs > silenceMs) this.destroy(new RowsOverdue('the database has sent nothing'))
  }
}
