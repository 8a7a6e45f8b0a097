const stringOrNumber = /"(?:[^"\\]|\\.)*"|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/gs

/** A shorter number has no more digits than any double keeps. */
const longNumber = /\d[\d.]{15}|\d[eE][+-]?\d{3}/

/** As `JSON.parse`, with numbers that no double holds exactly as texts of their digits. */
export function parseExact(text: string): unknown {
  if (!longNumber.test(text)) return JSON.parse(text)
  return JSON.parse(
    text.replace(stringOrNumber, (match) => {
      const isKept = match.startsWith('"') || !longNumber.test(match) || isExact(match)
      return isKept ? match : `"${match}"`
    }),
  )
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
  const significant = digits.replace(/0+$/, '')
  const power = Number(exponent) - fraction.length + (digits.length - significant.length)
  return significant === '' ? '0' : `${sign}${significant}e${power}`
}

/** As `JSON.stringify`, with a bigint as a text of its digits, which the server takes for any number. */
export function stringify(value: unknown): string {
  return JSON.stringify(value, (_key, member) => (typeof member === 'bigint' ? String(member) : member))
}
