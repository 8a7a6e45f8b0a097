const signature = Buffer.from('PGCOPY\n\xff\r\n\0', 'latin1')
/** Without flags and without an extension of the header. */
const header = Buffer.concat([signature, Buffer.alloc(8)])
const isNull = -1
const trailer = -1
const initialBytes = 64 * 1024
/** Of a character in UTF-8, for each unit of UTF-16. */
const bytesPerUnit = 3
/** PostgreSQL counts time from 2000-01-01, in microseconds. */
const epochMs = Date.UTC(2000, 0, 1)
const twoTo32 = 2 ** 32

/**
 * Rows as `copy … from stdin (format binary)` reads them (PostgreSQL manual, COPY, Binary Format): neither side makes or
 * reads a text of a number or a time. Fields are added in the order of the columns.
 */
export class BinaryRows {
  readonly #columns: number
  /** The UUID before, which the rows of a batch often share, and where it stands. */
  #latestUuid: { readonly value: string | undefined; readonly at: number } = { value: undefined, at: 0 }
  #bytes = Buffer.allocUnsafe(initialBytes)
  #length = 0

  /** @param columns how many fields a row has */
  constructor(columns: number) {
    this.#columns = columns
    this.#length = header.copy(this.#bytes)
  }

  /** Begins a row. */
  row(): this {
    this.#reserve(2)
    this.#length = this.#bytes.writeInt16BE(this.#columns, this.#length)
    return this
  }

  /** @param value without NUL, which no text in PostgreSQL holds */
  text(value: string | undefined): this {
    if (value === undefined) return this.#null()
    this.#reserve(4 + bytesPerUnit * value.length)
    const size = this.#bytes.write(value, this.#length + 4)
    this.#length = this.#bytes.writeInt32BE(size, this.#length) + size
    return this
  }

  /** @throws RangeError */
  int4(value: number): this {
    this.#begin(4)
    this.#length = this.#bytes.writeInt32BE(value, this.#length)
    return this
  }

  /** @param value a safe integer */
  int8(value: number): this {
    this.#begin(8)
    const high = Math.floor(value / twoTo32)
    this.#length = this.#bytes.writeInt32BE(high, this.#length)
    this.#length = this.#bytes.writeUInt32BE(value - high * twoTo32, this.#length)
    return this
  }

  float4(value: number): this {
    this.#begin(4)
    this.#length = this.#bytes.writeFloatBE(value, this.#length)
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
      this.#bytes.copyWithin(this.#length, latest.at, latest.at + 16)
    } else {
      const written = this.#bytes.write(value.replaceAll('-', ''), this.#length, 16, 'hex')
      if (written !== 16) throw new TypeError('not a UUID')
      this.#latestUuid = { value, at: this.#length }
    }
    this.#length += 16
    return this
  }

  /** What was added. Nothing may be added after it. */
  end(): Buffer {
    this.#reserve(2)
    this.#length = this.#bytes.writeInt16BE(trailer, this.#length)
    return this.#bytes.subarray(0, this.#length)
  }

  #null(): this {
    this.#reserve(4)
    this.#length = this.#bytes.writeInt32BE(isNull, this.#length)
    return this
  }

  /** Begins a field of a fixed size. */
  #begin(size: number): void {
    this.#reserve(4 + size)
    this.#length = this.#bytes.writeInt32BE(size, this.#length)
  }

  #reserve(bytes: number): void {
    const needed = this.#length + bytes
    if (needed <= this.#bytes.length) return
    const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.#bytes.length))
    this.#bytes.copy(larger, 0, 0, this.#length)
    this.#bytes = larger
  }
}
