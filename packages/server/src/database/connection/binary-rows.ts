const signature = Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1')
/** Without flags and without an extension of the header. */
const header = Buffer.concat([signature, Buffer.alloc(8)])
const trailer = Buffer.from([0xff, 0xff])
const isNull = -1
const initialBytes = 64 * 1024
/** Of a character in UTF-8, for each unit of UTF-16. */
const bytesPerUnit = 3
/** PostgreSQL counts time from 2000-01-01, in microseconds. */
const epochMs = Date.UTC(2000, 0, 1)
const twoTo32 = 2 ** 32

/**
 * Rows as `copy … from stdin (format binary)` reads them (PostgreSQL manual, COPY, Binary Format), without the
 * header and the trailer: neither side makes or reads a text of a number or a time. Fields are added in the order of the
 * columns.
 */
export class BinaryRows {
  readonly #columns: number
  /** The UUID before, which the rows of a batch often share, and where it stands. */
  #latestUuid: { readonly value: string | undefined; readonly at: number } = { value: undefined, at: 0 }
  #bytes = Buffer.allocUnsafe(initialBytes)
  #size = 0
  /** Where each row begins. */
  #starts: number[] = []

  /** @param columns how many fields a row has */
  constructor(columns: number) {
    this.#columns = columns
  }

  /** Rows. */
  get length(): number {
    return this.#starts.length
  }

  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.#size)
  }

  /** Some of the rows, as `Array.prototype.slice` picks them; further ones may be added to them. */
  slice(start: number, end = this.length): BinaryRows {
    const picked = new BinaryRows(this.#columns)
    const from = this.#starts[start] ?? this.#size
    const bytes = this.#bytes.subarray(from, this.#starts[end] ?? this.#size)
    picked.#reserve(bytes.length)
    picked.#size = bytes.copy(picked.#bytes)
    picked.#starts = this.#starts.slice(start, end).map((at) => at - from)
    return picked
  }

  /** Removes all rows and keeps the memory, which others may still read: not before the statement has ended. */
  clear(): void {
    this.#size = 0
    this.#starts.length = 0
    this.#latestUuid = { value: undefined, at: 0 }
  }

  /** Begins a row. */
  row(): this {
    this.#starts.push(this.#size)
    this.#reserve(2)
    this.#size = this.#bytes.writeInt16BE(this.#columns, this.#size)
    return this
  }

  /** @param value without NUL, which no text in PostgreSQL holds */
  text(value: string | undefined): this {
    if (value === undefined) return this.#null()
    this.#reserve(4 + bytesPerUnit * value.length)
    const size = this.#bytes.write(value, this.#size + 4)
    this.#size = this.#bytes.writeInt32BE(size, this.#size) + size
    return this
  }

  /** @throws RangeError */
  int4(value: number): this {
    this.#begin(4)
    this.#size = this.#bytes.writeInt32BE(value, this.#size)
    return this
  }

  /** @param value a safe integer */
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

  /** @throws TypeError when it is none */
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

  /** Begins a field of a fixed size. */
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

/** The data of one command. */
export async function* encodeCopy(
  batches: Iterable<BinaryRows> | AsyncIterable<BinaryRows>,
): AsyncGenerator<Buffer> {
  yield header
  for await (const { bytes } of batches) yield bytes
  yield trailer
}
