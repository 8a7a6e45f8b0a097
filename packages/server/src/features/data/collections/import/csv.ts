/** CSV record as written. null is a field without any characters, not even quotes. */
export interface CsvRecord {
  readonly fields: readonly (string | null)[]
  /** Fault in the syntax of the record; its fields are then unusable. */
  readonly fault: string | undefined
}

type State = 'field begins' | 'unquoted' | 'quoted' | 'quote closed'

const comma = 0x2c
const quote = 0x22
const newline = 0x0a
const carriageReturn = 0x0d

/**
 * Streaming reader of CSV (RFC 4180). Lines end in LF, CRLF or CR; blank lines are skipped. A quoting fault belongs
 * to its record, and reading continues after it.
 */
export class CsvReader {
  readonly #sizeLimit: number
  #state: State = 'field begins'
  /** Part of the current field that earlier chunks and doubled quotes have contributed. */
  #parts = ''
  #fields: (string | null)[] = []
  #fault: string | undefined
  #size = 0
  #mayFollowCarriageReturn = false

  /** @param sizeLimit maximum number of characters of a record */
  constructor(sizeLimit: number) {
    this.#sizeLimit = sizeLimit
  }

  /** Returns the records that end in this chunk. */
  read(chunk: string): CsvRecord[] {
    const records: CsvRecord[] = []
    let start = 0
    for (let position = 0; position < chunk.length; position += 1) {
      const code = chunk.charCodeAt(position)
      if (this.#mayFollowCarriageReturn) {
        this.#mayFollowCarriageReturn = false
        if (code === newline) {
          start = position + 1
          continue
        }
      }
      if (this.#state === 'quoted') {
        if (code !== quote) continue
        this.#take(chunk, start, position)
        this.#state = 'quote closed'
        start = position + 1
      } else if (code === quote) {
        // A second quote stands for one quote, and is the first character of the following text.
        if (this.#state === 'quote closed') start = position
        else if (this.#state === 'field begins') start = position + 1
        else this.#fault ??= 'a quote in a field that does not begin with one'
        if (this.#state !== 'unquoted') this.#state = 'quoted'
      } else if (code === comma || code === newline || code === carriageReturn) {
        if (this.#state !== 'quote closed') this.#take(chunk, start, position)
        this.#endField()
        start = position + 1
        if (code !== comma) this.#endRecord(records)
        this.#mayFollowCarriageReturn = code === carriageReturn
      } else if (this.#state === 'quote closed') {
        this.#fault ??= 'text behind a closing quote'
        this.#state = 'unquoted'
      } else {
        this.#state = 'unquoted'
      }
    }
    if (this.#state !== 'quote closed') this.#take(chunk, start, chunk.length)
    return records
  }

  /** Returns the last record if it has no line end. */
  end(): CsvRecord[] {
    const records: CsvRecord[] = []
    if (this.#state === 'quoted') this.#fault ??= 'a quoted field that is not closed'
    if (this.#state !== 'field begins' || this.#fields.length > 0) {
      this.#endField()
      this.#endRecord(records)
    }
    return records
  }

  #take(chunk: string, start: number, end: number): void {
    this.#size += end - start
    if (this.#size <= this.#sizeLimit) this.#parts += chunk.slice(start, end)
    else this.#fault ??= `more than ${this.#sizeLimit} characters`
  }

  #endField(): void {
    this.#fields.push(this.#state === 'field begins' ? null : this.#parts)
    // Each field counts as one character, even when it is empty.
    this.#size += 1
    if (this.#size > this.#sizeLimit) this.#fields = []
    this.#parts = ''
    this.#state = 'field begins'
  }

  #endRecord(records: CsvRecord[]): void {
    const fields = this.#fields
    const fault = this.#size > this.#sizeLimit + 1 ? `more than ${this.#sizeLimit} characters` : this.#fault
    if (fields.length !== 1 || fields[0] !== null || fault !== undefined) records.push({ fields, fault })
    this.#fields = []
    this.#fault = undefined
    this.#size = 0
  }
}
