const quoteOrNumber = /"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/g

/** Pattern of a number that a double may not hold exactly. A shorter number always fits. */
const longNumber = /\d[\d.]{15}|\d[eE][+-]?\d{3}/

/** Parses JSON as `JSON.parse` does, but returns numbers that no double holds exactly as strings of their digits. */
export function parseExact(text: string): unknown {
  if (!longNumber.test(text)) return JSON.parse(text)
  let quoted = ''
  let end = 0
  const tokens = new RegExp(quoteOrNumber)
  for (let token = tokens.exec(text); token !== null; token = tokens.exec(text)) {
    const [match] = token
    // A single expression would overflow the stack on strings of some megabytes, because of its repetitions.
    if (match === '"') tokens.lastIndex = endOfText(text, tokens.lastIndex)
    else if (longNumber.test(match) && !isExact(match)) {
      quoted += `${text.slice(end, token.index)}"${match}"`
      end = tokens.lastIndex
    }
  }
  return JSON.parse(quoted + text.slice(end))
}

/** Returns the index after a quoted string. @param start index after the opening quotation mark */
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

/** Normalizes a number to its digits and exponent: `1.50e+02` becomes `15e1`. */
function normalize(source: string): string {
  const [, sign = '', whole = '', fraction = '', exponent = '0'] =
    /^(-?)(\d+)(?:\.(\d*))?(?:[eE]([+-]?\d+))?$/.exec(source) ?? []
  const digits = (whole + fraction).replace(/^0+/, '')
  // The loop runs backwards. An expression would restart at each run of zeros, and a number may have 16,383 fraction digits.
  let end = digits.length
  while (end > 0 && digits[end - 1] === '0') end -= 1
  const significant = digits.slice(0, end)
  const power = Number(exponent) - fraction.length + (digits.length - significant.length)
  return significant === '' ? '0' : `${sign}${significant}e${power}`
}

/**
 * Serializes a value as `JSON.stringify` does, but writes bigints, NaN and infinities as strings. The server accepts strings
 * for every numeric type.
 *
 * @throws RangeError for an invalid date, which `JSON.stringify` would write as null
 */
export function stringify(value: unknown): string {
  return JSON.stringify(value, function (this: Record<string, unknown>, key: string, member: unknown) {
    if (typeof member === 'bigint') return String(member)
    if (typeof member === 'number' && !Number.isFinite(member)) return String(member)
    if (member === null && isDate(this[key])) throw new RangeError(`${key} is an invalid date`)
    return member
  })
}

/** @internal Returns true for a `Date`, also for one of another realm. */
export function isDate(value: unknown): value is Date {
  return Object.prototype.toString.call(value) === '[object Date]'
}
