/** Returns a number as JSON has it, or a {@link RawNumber} if JavaScript would write it in another form: `1.10`. */
export function readNumber(text: string): number | RawNumber {
  const number = Number(text)
  return String(number) === text ? number : new RawNumber(text)
}

/** Number whose digits JavaScript would change. `JSON.stringify` writes it as it was sent. */
export class RawNumber {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  toJSON(): unknown {
    return JSON.rawJSON(this.text)
  }

  toString(): string {
    return this.text
  }
}

/** Returns a message of the library `graphql` with numbers as they were sent. */
export function showNumbers(message: string): string {
  return message.replace(/\{ rawJSON: "([-+.\deE]+)" \}/g, '$1')
}
