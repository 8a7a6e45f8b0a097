const signature = Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1')
/** Header without flags and without an extension. */
const header = Buffer.concat([signature, Buffer.alloc(8)])
const trailer = Buffer.from([0xff, 0xff])
const isNull = -1
const initialBytes = 64 * 1024
/** Maximum number of UTF-8 bytes for a UTF-16 code unit. */
const bytesPerUnit = 3
/** Start of PostgreSQL's time, 2000-01-01. It counts in microseconds. */
const epochMs = Date.UTC(2000, 0, 1)
const twoTo32 = 2 ** 32

/**
 * Rows in the format that `copy … from stdin (format binary)` reads (PostgreSQL manual, COPY, Binary Format),
 * without the header and the trailer. Neither side formats or parses numbers and times as text. Fields are
 * added in the order of the columns.
 */
export class BinaryRows {
  readonly #columns: number
  /** Previous UUID and its offset. The rows of a batch often share a UUID. */
  #latestUuid: { readonly value: string | undefined; readonly at: number } = { value: undefined, at: 0 }
  #bytes = Buffer.allocUnsafe(initialBytes)
  #size = 0
  /** Offset of each row. */
  #starts: number[] = []

  /** @param columns number of fields in a row */
  constructor(columns: number) {
    this.#columns = columns
  }

  /** Number of rows. */
  get length(): number {
    return this.#starts.length
  }

  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#size)
  }

  /**
   * Returns some of the rows, as `Array.prototype.slice` selects them; further rows may be added to the result.
   */
  slice(start: number, end = this.length): BinaryRows {
    const picked = new BinaryRows(this.#columns)
    const from = this.#starts[start] ?? this.#size
    const bytes = this.#bytes.subarray(from, this.#starts[end] ?? this.#size)
    picked.#reserve(bytes.length)
    picked.#size = bytes.copy(picked.#bytes)
    picked.#starts = this.#starts.slice(start, end).map((at) => at - from)
    return picked
  }

  /**
   * Removes all rows and keeps the memory. Readers may still use it, so it must not be called before their
   * statement has ended.
   */
  clear(): void {
    this.#size = 0
    this.#starts.length = 0
    this.#latestUuid = { value: undefined, at: 0 }
  }

  /** Starts a row. */
  row(): this {
    this.#starts.push(this.#size)
    this.#reserve(2)
    this.#size = this.#bytes.writeInt16BE(this.#columns, this.#size)
    return this
  }

  /** Appends a text or NULL. @param value without NUL characters, which PostgreSQL cannot store in text */
  text(value: string | undefined): this {
    if (value === undefined) return this.#null()
    this.#reserve(4 + bytesPerUnit * value.length)
    const size = this.#bytes.write(value, this.#size + 4)
    this.#size = this.#bytes.writeInt32BE(size, this.#size) + size
    return this
  }

  /** Appends an integer. @throws RangeError */
  int4(value: number): this {
    this.#begin(4)
    this.#size = this.#bytes.writeInt32BE(value, this.#size)
    return this
  }

  /** Appends an integer. @param value a safe integer */
  int8(value: number): this {
    this.#begin(8)
    const high = Math.floor(value / twoTo32)
    this.#size = this.#bytes.writeInt32BE(high, this.#size)
    this.#size = this.#bytes.writeUInt32BE(value - high * twoTo32, this.#size)
    return this
  }

  float4(value: number): this {
    this.#begin(4)
    this.#size = this.#bytes.writeFloatBE(value, this.#size)
    return this
  }

  timestamptz(value: Date): this {
    return this.int8((value.getTime() - epochMs) * 1000)
  }

  /** Appends a UUID or NULL. @throws TypeError when the value is no UUID */
  uuid(value: string | undefined): this {
    if (value === undefined) return this.#null()
    this.#begin(16)
    const latest = this.#latestUuid
    if (value === latest.value) {
      this.#bytes.copyWithin(this.#size, latest.at, latest.at + 16)
    } else {
      const written = this.#bytes.write(value.replaceAll('-', ''), this.#size, 16, 'hex')
      if (written !== 16) throw new TypeError('not a UUID')
      this.#latestUuid = { value, at: this.#size }
    }
    this.#size += 16
    return this
  }

  #null(): this {
    this.#reserve(4)
    this.#size = this.#bytes.writeInt32BE(isNull, this.#size)
    return this
  }

  /** Starts a field of a fixed size. */
  #begin(size: number): void {
    this.#reserve(4 + size)
    this.#size = this.#bytes.writeInt32BE(size, this.#size)
  }

  #reserve(bytes: number): void {
    const needed = this.#size + bytes
    if (needed <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.#bytes.length))
    this.#bytes.copy(larger, 0, 0, this.#size)
    this.#bytes = larger
  }
}

/** Yields the data of one command. */
export async function* encodeCopy(
  batches: Iterable<BinaryRows> | AsyncIterable<BinaryRows>,
): AsyncGenerator<Buffer> {
  yield header
  for await (const { bytes } of batches) yield bytes
  yield trailer
}
