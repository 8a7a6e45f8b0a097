import { collectionErrors } from '../errors.ts'
import { parseNumber } from './numbers.ts'

/** Sort term `column.distance(lng,lat)`, as written. */
export interface DistanceSort {
  readonly column: string
  readonly lng: number
  readonly lat: number
}

/**
 * Splits a distance term from the beginning of a `sort`. The rest are names.
 *
 * @throws AppError invalid_parameter
 */
export function takeDistanceSort(sort: string): {
  readonly distance: DistanceSort | undefined
  readonly rest: string
} {
  const [sign = ''] = /^[+-]?/.exec(sort.trimStart()) ?? []
  const unsigned = sort.trimStart().slice(sign.length).trimStart()
  const [first = '', quoted, plain, point = ''] = firstTerm.exec(unsigned) ?? []
  const rest = first === '' ? sort : unsigned.slice(first.length)
  const hasMore = mentionsDistance(rest)
  if (first === '') {
    if (!hasMore) return { distance: undefined, rest: sort }
    throw fault(
      /^[^,]*\.distance/i.test(sort) || !/\.distance\s*\([^()]*\)/i.test(sort)
        ? 'distance sort must use format: column.distance(lng,lat)'
        : 'distance sort term must be the first sort term',
    )
  }
  if (hasMore) throw fault('sort may include at most one distance term')
  if (sign !== '') throw fault('distance sort does not support +/- prefixes')
  const [lng, lat, ...more] = point.split(',').map(parseNumber)
  const column = quoted?.replaceAll('""', '"') ?? plain ?? ''
  if (lng === undefined || lat === undefined || more.length > 0 || column === '') {
    throw fault('distance sort must use format: column.distance(lng,lat)')
  }
  return { distance: { column, lng, lat }, rest }
}

/**
 * Pattern of the first term. Leading blanks are removed before it is matched: if the pattern could match them in a
 * second position, a long run of blanks would take cubic time.
 */
const firstTerm = /^(?:"((?:[^"]|"")+)"|([^",()]*?))\.distance\s*\(([^()]*)\)\s*(?:,(?=.)|$)/is

/** Returns whether the text mentions a distance outside quoted names. */
function mentionsDistance(text: string): boolean {
  return /\.distance\s*\(/i.test(text.replace(/"(?:[^"]|"")*"/g, '""'))
}

function fault(problem: string): Error {
  return collectionErrors.invalidParameter(problem)
}
