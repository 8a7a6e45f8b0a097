import { parseDay, parseInstant } from '../../lib/instant.ts'
import { Type } from '../../lib/type.ts'
import { isUuid } from '../../lib/uuid.ts'
import { httpErrors } from '../errors/errors.ts'
import { checkedByHandler, choice, refusedWith, uuid } from '../schemas.ts'

/** Returns the parameter that accepts one of some texts. @param label name in the message */
export function choiceParameter<const Option extends string>(
  label: string,
  options: readonly Option[],
  keywords: Readonly<Record<string, unknown>> = {},
) {
  const invalid = () => invalidChoice(label, options)
  return Type.Optional(refusedWith({ invalid }, choice(options, keywords)))
}

/** Returns the parameter that filters by an id. */
export function uuidParameter(name: string) {
  const invalid = () => httpErrors.invalidListParameter(`${name} filter`, 'must be a UUID')
  return Type.Optional(refusedWith({ invalid }, uuid))
}

/** Start or end of a range, which {@link readTimeRange} reads. */
export const instantParameter = Type.Optional(
  Type.String({
    format: 'instant-or-day',
    description: 'RFC 3339, or YYYY-MM-DD; a range includes its last day.',
  }),
)

/** Returns the parameter `limit` with its documentation and its reader. */
export function limitParameter(fallback: number, most: number) {
  const invalid = () => httpErrors.invalidListParameter('limit', '')
  // A larger limit counts as the largest.
  const documented = checkedByHandler({ maximum: most, default: fallback }, Type.Integer({ minimum: 1 }))
  return {
    schema: Type.Optional(refusedWith({ invalid }, documented)),
    read: (limit: number = fallback) => Math.min(limit, most),
  }
}

/** Parameter `offset`. */
export const offsetParameter = Type.Optional(
  refusedWith(
    { invalid: () => httpErrors.invalidListParameter('offset', '') },
    checkedByHandler({ maximum: 999_999_999_999_999, default: 0 }, Type.Integer({ minimum: 0 })),
  ),
)

/** Parses a limit. @throws AppError invalid_list_parameter */
export function readLimit(text: string | undefined, fallback: number, most: number): number {
  if (text === undefined) return fallback
  if (!/^\d{1,15}$/.test(text) || Number(text) === 0) throw httpErrors.invalidListParameter('limit', '')
  return Math.min(Number(text), most)
}

/** Parses one of the options. @throws AppError invalid_list_parameter */
export function readChoice<const Option extends string>(
  name: string,
  text: string,
  options: readonly Option[],
): Option {
  const found = options.find((option) => option === text)
  if (found === undefined) throw invalidChoice(name, options)
  return found
}

function invalidChoice(name: string, options: readonly string[]) {
  return httpErrors.invalidListParameter(name, `must be one of: ${options.join(', ')}`)
}

/** Parses a UUID into lower case, as ids are stored. @throws AppError invalid_list_parameter */
export function readUuid(name: string, text: string): string {
  if (!isUuid(text)) throw httpErrors.invalidListParameter(name, 'must be a UUID')
  return text.toLowerCase()
}

/** Position in a list that is ordered by time and id. */
export interface TimePosition {
  /** Microseconds since 1970, the resolution of PostgreSQL. */
  readonly microseconds: string
  readonly id: string
}

/** Formats the `nextCursor` that {@link readTimePosition} parses. */
export function writeTimePosition({ microseconds, id }: TimePosition): string {
  return `${microseconds}_${id}`
}

/** Parses a cursor. @throws AppError invalid_list_parameter */
export function readTimePosition(cursor: string): TimePosition {
  const [, microseconds = '', id = ''] = /^(\d{1,16})_(.+)$/.exec(cursor) ?? []
  if (!isUuid(id)) throw httpErrors.invalidListParameter('cursor', 'expected nextCursor of the page before')
  return { microseconds, id }
}

const dayMs = 24 * 3600 * 1000

export interface TimeRange {
  readonly from: Date | undefined
  /** Exclusive end. */
  readonly to: Date | undefined
}

/**
 * Parses a time range: RFC 3339, or dates in UTC. The range includes its last date.
 *
 * @throws AppError invalid_list_parameter, reversed_time_range
 */
export function readTimeRange(
  range: { readonly from: string | undefined; readonly to: string | undefined },
  names: readonly [from: string, to: string] = ['from', 'to'],
): TimeRange {
  const from = range.from === undefined ? undefined : readInstant(names[0], range.from)
  const to = range.to === undefined ? undefined : readInstant(names[1], range.to)
  if (from !== undefined && to !== undefined && to.getTime() < from.getTime())
    throw httpErrors.reversedTimeRange(names[1], names[0])
  const isDay = range.to !== undefined && parseDay(range.to) !== undefined
  // The instant itself is included, too. Stored times have microseconds.
  return { from, to: to === undefined ? undefined : new Date(to.getTime() + (isDay ? dayMs : 1)) }
}

function readInstant(name: string, text: string): Date {
  const instant = parseDay(text) ?? parseInstant(text)
  if (instant === undefined)
    throw httpErrors.invalidListParameter(`${name} filter`, 'expected RFC3339 or YYYY-MM-DD')
  return instant
}
