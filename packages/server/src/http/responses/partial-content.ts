/** Whether a list of entity tags has this one, or any (RFC 9110 §13.1.2). */
export function matchesTag(header: string | undefined, tag: string): boolean {
  if (header === undefined) return false
  if (header.trim() === '*') return true
  return header.split(',').some((each) => each.trim().replace(/^W\//, '') === tag)
}

/** The same of `If-Match`, where a weak tag matches nothing (RFC 9110 §13.1.1). */
export function matchesStrongTag(header: string, tag: string): boolean {
  return header.trim() === '*' || header.split(',').some((each) => each.trim() === tag)
}

/** The three forms of a date (RFC 9110 §5.6.7). */
const httpDate =
  /^(\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT|\w{6,9}, \d\d-\w{3}-\d\d \d\d:\d\d:\d\d GMT|\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4})$/

/** In seconds since 1970; undefined for what is no date, which a condition is to be ignored for (RFC 9110 §13.1.3). */
export function readHttpDate(header = ''): number | undefined {
  const seconds = httpDate.test(header) ? Date.parse(`${header.replace(/ GMT$/, '')} GMT`) / 1000 : Number.NaN
  return Number.isNaN(seconds) ? undefined : seconds
}

export interface ByteRange {
  readonly start: number
  /** The last byte. */
  readonly end: number
}

/** The one range of a header (RFC 9110 §14.2); undefined when it is to be passed over, null when nothing is in it. */
export function readRange(header: string | undefined, size: number): ByteRange | null | undefined {
  const found = /^bytes=(\d*)-(\d*)$/i.exec(header ?? '')
  const [, first = '', last = ''] = found ?? []
  if (first === '' && last === '') return undefined
  if (first === '') {
    if (Number(last) === 0) return null
    // The last bytes of nothing are all of it, which no `Content-Range` can say.
    return size === 0 ? undefined : { start: Math.max(size - Number(last), 0), end: size - 1 }
  }
  const start = Number(first)
  if (last !== '' && Number(last) < start) return undefined
  if (start >= size) return null
  return { start, end: last === '' ? size - 1 : Math.min(Number(last), size - 1) }
}
