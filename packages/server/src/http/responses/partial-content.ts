import type { FastifyRequest } from 'fastify'
import { parseTags } from './entity-tag.ts'

/** Returns true if a list of entity tags contains this one, or any (RFC 9110 §13.1.2). */
export function matchesTag(header: string | undefined, tag: string): boolean {
  const tags = header === undefined ? undefined : parseTags(header)
  return tags === '*' || tags?.some(({ sent }) => sent === tag) === true
}

/** Returns the same for `If-Match`, where a weak tag matches nothing (RFC 9110 §13.1.1). */
export function matchesStrongTag(header: string, tag: string): boolean {
  const tags = parseTags(header)
  return tags === '*' || tags?.some(({ isWeak, sent }) => !isWeak && sent === tag) === true
}

/** Pattern of the three date formats (RFC 9110 §5.6.7). */
const httpDate =
  /^(\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d GMT|\w{6,9}, \d\d-\w{3}-\d\d \d\d:\d\d:\d\d GMT|\w{3} \w{3} [ \d]\d \d\d:\d\d:\d\d \d{4})$/

/**
 * Parses a date into seconds since 1970. Returns undefined for an invalid date, whose condition is ignored (RFC
 * 9110 §13.1.3).
 */
export function readHttpDate(header = ''): number | undefined {
  const seconds = httpDate.test(header) ? Date.parse(`${header.replace(/ GMT$/, '')} GMT`) / 1000 : Number.NaN
  return Number.isNaN(seconds) ? undefined : seconds
}

export interface ByteRange {
  readonly start: number
  /** Offset of the last byte. */
  readonly end: number
}

export interface Representation {
  /** Strong entity tag, with its quotes. */
  readonly tag: string
  readonly size: number
  /** Seconds since 1970. Conditions on dates are ignored without it. */
  readonly modifiedAt?: number
}

/**
 * Selects the part of a representation by the conditions of a request, in their order (RFC 9110 §13.2.2), and
 * its range (§14.2).
 *
 * @returns `failed`: 412; `known`: 304; `unsatisfiable`: 416; undefined: the whole representation
 */
export function selectPart(
  { method, headers }: Pick<FastifyRequest, 'method' | 'headers'>,
  { tag, size, modifiedAt }: Representation,
): 'failed' | 'known' | 'unsatisfiable' | ByteRange | undefined {
  const { 'if-match': match, 'if-none-match': noneMatch, 'if-range': ifRange } = headers
  /** Returns true if the header is a date, and the representation was modified after it. */
  const isModifiedSince = (name: 'if-modified-since' | 'if-unmodified-since') => {
    const date = modifiedAt === undefined ? undefined : readHttpDate(headers[name])
    return date === undefined || modifiedAt === undefined ? undefined : modifiedAt > date
  }
  const isFailed =
    match === undefined ? isModifiedSince('if-unmodified-since') : !matchesStrongTag(match, tag)
  if (isFailed === true) return 'failed'
  const isKnown =
    noneMatch === undefined ? isModifiedSince('if-modified-since') === false : matchesTag(noneMatch, tag)
  if (isKnown) return 'known'
  const isCurrent = ifRange === undefined || ifRange === tag
  const range = isCurrent && method === 'GET' ? readRange(headers.range, size) : undefined
  return range === null ? 'unsatisfiable' : range
}

/** Parses the range of a header. Returns undefined when it is to be ignored, null when it is empty. */
export function readRange(header: string | undefined, size: number): ByteRange | null | undefined {
  const found = /^bytes=(\d*)-(\d*)$/i.exec(header ?? '')
  const [, first = '', last = ''] = found ?? []
  if (first === '' && last === '') return undefined
  if (first === '') {
    if (Number(last) === 0) return null
    // The last bytes of an empty representation are all of it, which no `Content-Range` can express.
    return size === 0 ? undefined : { start: Math.max(size - Number(last), 0), end: size - 1 }
  }
  const start = Number(first)
  if (last !== '' && Number(last) < start) return undefined
  if (start >= size) return null
  return { start, end: last === '' ? size - 1 : Math.min(Number(last), size - 1) }
}
