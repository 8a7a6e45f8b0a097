/** Significant digits that every double keeps (IEEE 754). */
const safeDigits = 15

/** Returns a number as JSON has it; one with more digits than a double keeps as a {@link RawNumber}. */
export function readNumber(text: string): number | RawNumber {
  const number = Number(text)
  const [mantissa = ''] = text.split(/e/i)
  const digits = mantissa.replace(/[-.]/g, '').replace(/^0+/, '')
  const isKept = digits.length <= safeDigits || String(number) === text
  return isKept && Number.isFinite(number) ? number : new RawNumber(text)
}

/** Number whose digits a double would lose. `JSON.stringify` writes it as it was sent. */
export class RawNumber {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }

  toJSON(): unknown {
    return JSON.rawJSON(this.text)
  }
}
