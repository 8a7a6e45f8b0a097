import { importErrors } from './errors.ts'

/** Streaming reader of record texts. undefined stands for a record that is longer than the limit. */
export interface TextReader {
  /** Returns the records that end in this chunk. */
  read(chunk: string): (string | undefined)[]
  /** Returns the rest. @throws AppError where the body ends too early */
  end(): (string | undefined)[]
}

/** Text that is assembled from chunks up to a limit. */
class BoundedText {
  readonly #limit: number
  #parts = ''
  #size = 0

  constructor(limit: number) {
    this.#limit = limit
  }

  add(chunk: string, start: number, end: number): void {
    this.#size += end - start
    if (this.#size <= this.#limit) this.#parts += chunk.slice(start, end)
  }

  /** Returns the text added since the last call. */
  take(): string | undefined {
    const text = this.#size <= this.#limit ? this.#parts : undefined
    this.#parts = ''
    this.#size = 0
    return text
  }
}

/** Reader of a JSON array that cuts out its elements without parsing them. */
export class JsonArrayReader implements TextReader {
  readonly #element: BoundedText
  #state: 'before' | 'first' | 'within' | 'after' = 'before'
  #depth = 0
  #isInString = false
  #isEscaped = false

  /** @param sizeLimit maximum number of characters of an element */
  constructor(sizeLimit: number) {
    this.#element = new BoundedText(sizeLimit)
  }

  read(chunk: string): (string | undefined)[] {
    const elements: (string | undefined)[] = []
    let start = 0
    for (let position = 0; position < chunk.length; position += 1) {
      const character = chunk[position]
      if (this.#isInString) {
        if (this.#isEscaped) this.#isEscaped = false
        else if (character === '\\') this.#isEscaped = true
        else if (character === '"') this.#isInString = false
        continue
      }
      if (this.#state === 'before' || this.#state === 'after') {
        if (isSpace(character)) continue
        if (character !== '[' || this.#state === 'after') throw importErrors.bodyNotArray()
        this.#state = 'first'
        start = position + 1
        continue
      }
      if (character === '"') this.#isInString = true
      else if (character === '{' || character === '[') this.#depth += 1
      else if (this.#depth > 0) {
        if (character === '}' || character === ']') this.#depth -= 1
      } else if (character === ',' || character === ']') {
        this.#element.add(chunk, start, position)
        start = position + 1
        const element = this.#element.take()
        // `[]` has no element. `[1,]` has an empty one, which is invalid.
        if (this.#state === 'within' || character === ',' || element?.trim() !== '') elements.push(element)
        this.#state = character === ',' ? 'within' : 'after'
      }
    }
    if (this.#state === 'first' || this.#state === 'within') this.#element.add(chunk, start, chunk.length)
    return elements
  }

  end(): (string | undefined)[] {
    if (this.#state !== 'after') throw importErrors.bodyNotArray()
    return []
  }
}

/** Reader of NDJSON lines; blank lines are skipped. */
export class JsonLinesReader implements TextReader {
  readonly #line: BoundedText

  constructor(sizeLimit: number) {
    this.#line = new BoundedText(sizeLimit)
  }

  read(chunk: string): (string | undefined)[] {
    const lines: (string | undefined)[] = []
    let start = 0
    for (let end = chunk.indexOf('\n'); end !== -1; end = chunk.indexOf('\n', start)) {
      this.#line.add(chunk, start, end)
      lines.push(this.#line.take())
      start = end + 1
    }
    this.#line.add(chunk, start, chunk.length)
    return lines.filter((line) => line === undefined || line.trim() !== '')
  }

  end(): (string | undefined)[] {
    return this.read('\n')
  }
}

function isSpace(character: string | undefined): boolean {
  return character === ' ' || character === '\n' || character === '\r' || character === '\t'
}
