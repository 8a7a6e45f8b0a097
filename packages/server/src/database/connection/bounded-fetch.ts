import type { Submittable, Connection as WireConnection } from 'pg'
import pg from 'pg'
import { serialize } from 'pg-protocol'
import { ConnectionLost } from '../errors/failures.ts'
import { missingInput } from './missing-input.ts'

/** Statement with limits for its result. */
export interface BoundedQuery {
  readonly text: string
  readonly values: readonly (string | null)[]
  /** Object ids of the value types. With 0 PostgreSQL infers the type. */
  readonly types: readonly number[]
  readonly maxRows: number
  /** Maximum number of characters in all values. The row that exceeds it is the last. */
  readonly maxSize: number
  /** Maximum number of characters in one value; the rest is cut off. */
  readonly maxCell: number
  /** Returns statements to run before the result ends, by the tag of this one. Their results are ignored. */
  readonly followedBy?: (tag: string | undefined) => readonly string[]
}

export interface BoundedAnswer {
  readonly fields: readonly { readonly name: string; readonly dataTypeID: number }[]
  /** Rows with values as PostgreSQL prints them. */
  readonly rows: readonly (readonly (string | null)[])[]
  /** Positions of values that were cut, as [row, column, whole length]. */
  readonly cut: readonly (readonly [row: number, column: number, length: number])[]
  /** Command tag such as `INSERT 0 3`. Undefined for an empty statement, and when the rows were limited. */
  readonly tag: string | undefined
  readonly hasMore: boolean
}

/** Rows that are fetched at once. At most so many exceed the size limit. */
const batchRows = 200

/**
 * One statement by the extended query protocol, which accepts no second one, with a limited number of rows. The
 * portal is closed after those (PostgreSQL, Extended Query).
 */
export class BoundedFetch implements Submittable {
  readonly #query: BoundedQuery
  readonly #rows: (string | null)[][] = []
  readonly #cut: [number, number, number][] = []
  #fields: BoundedAnswer['fields'] = []
  #size = 0
  #tag: string | undefined
  #hasMore = false
  #lacksInput = false
  #isDone = false
  #settle: { resolve: (answer: BoundedAnswer) => void; reject: (error: unknown) => void } | undefined
  readonly answered: Promise<BoundedAnswer>

  constructor(query: BoundedQuery) {
    this.#query = query
    this.answered = new Promise((resolve, reject) => {
      this.#settle = { resolve, reject }
    })
  }

  submit(wire: WireConnection): undefined {
    const { text, values, types } = this.#query
    wire.stream.write(
      Buffer.concat([
        serialize.parse({ text, types: [...types] }),
        // The serializer only reads the values.
        serialize.bind({ values: values as (string | null)[] }),
        serialize.describe({ type: 'P' }),
        ...this.#execute(),
      ]),
    )
    return undefined
  }

  handleRowDescription({ fields }: { fields: BoundedAnswer['fields'] }): void {
    this.#fields = fields.map(({ name, dataTypeID }) => ({ name, dataTypeID }))
  }

  handleDataRow({ fields }: { fields: (string | null)[] }): void {
    if (this.#isDone) return
    if (this.#isFull) {
      this.#hasMore = true
      return
    }
    const { maxCell } = this.#query
    const row = fields.map((value, column) => {
      if (value === null || value.length <= maxCell) return value
      this.#cut.push([this.#rows.length, column, value.length])
      // The part is copied, so that the whole value does not stay in memory with it.
      return Buffer.from(value.slice(0, maxCell).toWellFormed()).toString()
    })
    this.#rows.push(row)
    for (const value of row) this.#size += value?.length ?? 0
  }

  handlePortalSuspended(wire: WireConnection): void {
    // PostgreSQL does not say whether another row follows, so one more than the limit is fetched.
    if (!this.#isFull || !this.#hasMore) {
      wire.stream.write(Buffer.concat(this.#execute()))
      return
    }
    this.#isDone = true
    wire.stream.write(Buffer.concat([serialize.close({ type: 'P' }), ...this.#end()]))
  }

  handleCommandComplete({ text }: { text: string }, wire: WireConnection): void {
    if (this.#isDone) return
    this.#isDone = true
    this.#tag = text
    wire.stream.write(Buffer.concat(this.#end()))
  }

  handleEmptyQuery(wire: WireConnection): void {
    wire.stream.write(serialize.sync())
  }

  /** Handles `copy … from stdin`, for which there is no input. */
  handleCopyInResponse(wire: WireConnection): void {
    this.#lacksInput = true
    wire.stream.write(serialize.copyFail(''))
  }

  /** Handles `copy … to stdout`, where each line is a row. */
  handleCopyData({ chunk }: { chunk: Buffer }): void {
    if (this.#fields.length === 0) this.#fields = [{ name: 'copy', dataTypeID: pg.types.builtins.TEXT }]
    this.handleDataRow({ fields: [chunk.toString().replace(/\n$/, '')] })
  }

  handleError(error: unknown, wire: WireConnection): void {
    if (!(error instanceof pg.DatabaseError)) {
      this.#settle?.reject(
        new ConnectionLost('the database connection broke during a statement', { cause: error }),
      )
      return
    }
    // The server skips the rest of the message up to the Sync.
    wire.stream.write(serialize.sync())
    this.#settle?.reject(this.#lacksInput ? missingInput(error) : error)
  }

  handleReadyForQuery(): void {
    this.#settle?.resolve({
      fields: this.#fields,
      rows: this.#rows,
      cut: this.#cut,
      tag: this.#hasMore ? undefined : this.#tag,
      hasMore: this.#hasMore,
    })
  }

  get #isFull(): boolean {
    return this.#rows.length >= this.#query.maxRows || this.#size > this.#query.maxSize
  }

  #end(): Buffer[] {
    const following = this.#query.followedBy?.(this.#tag) ?? []
    return [
      ...following.flatMap((text) => [serialize.parse({ text }), serialize.bind(), serialize.execute()]),
      serialize.sync(),
    ]
  }

  #execute(): Buffer[] {
    const rows = this.#isFull ? 1 : Math.min(batchRows, this.#query.maxRows - this.#rows.length + 1)
    return [serialize.execute({ rows }), serialize.flush()]
  }
}
