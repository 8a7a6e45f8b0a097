const quoteOrNumber = /"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/g

/** A shorter number has no more digits than any double keeps. */
const longNumber = /\d[\d.]{15}|\d[eE][+-]?\d{3}/

/** As `JSON.parse`, with numbers that no double holds exactly as texts of their digits. */
export function parseExact(text: string): unknown {
  if (!longNumber.test(text)) return JSON.parse(text)
  let quoted = ''
  let end = 0
  const tokens = new RegExp(quoteOrNumber)
  for (let token = tokens.exec(text); token !== null; token = tokens.exec(text)) {
    const [match] = token
    // Not by one expression: its repetitions overflow the stack where a text has some megabytes.
    if (match === '"') tokens.lastIndex = endOfText(text, tokens.lastIndex)
    else if (longNumber.test(match) && !isExact(match)) {
      quoted += `${text.slice(end, token.index)}"${match}"`
      end = tokens.lastIndex
    }
  }
  return JSON.parse(quoted + text.slice(end))
}

/** @param start after its first quotation mark */
function endOfText(text: string, start: number): number {
  const marks = /["\\]/g
  marks.lastIndex = start
  for (let mark = marks.exec(text); mark !== null; mark = marks.exec(text)) {
    if (mark[0] === '"') return marks.lastIndex
    marks.lastIndex += 1
  }
  return text.length
}

function isExact(source: string): boolean {
  const value = Number(source)
  return Number.isFinite(value) && normalize(String(value)) === normalize(source)
}

/** Digits and exponent, however the number was written: `1.50e+02` is `15e1`. */
function normalize(source: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/.exec(source) ?? []
  const digits = (whole + fraction).replace(/^0+/, '')
  // Backwards: an expression would begin anew at each row of zeros, and digits may be as many as 16,383 after the point.
  let end = digits.length
  while (end > 0 && digits[end - 1] === '0') end -= 1
  const significant = digits.slice(0, end)
  const power = Number(exponent) - fraction.length + (digits.length - significant.length)
  return significant === '' ? '0' : `${sign}${significant}e${power}`
}

/**
 * As `JSON.stringify`, with a bigint, NaN and infinities as texts, which the server takes for any number that can hold them.
 *
 * @throws RangeError for a date that is none: as null it would be lost
 */
export function stringify(value: unknown): string {
  return JSON.stringify(value, function (this: Record<string, unknown>, key: string, member: unknown) {
    if (typeof member === 'bigint') return String(member)
    if (typeof member === 'number' && !Number.isFinite(member)) return String(member)
    if (member === null && isDate(this[key])) throw new RangeError(`${key} is an invalid date`)
    return member
  })
}

/** @internal Of another realm, too. */
export function isDate(value: unknown): value is Date {
  return Object.prototype.toString.call(value) === '[object Date]'
}
