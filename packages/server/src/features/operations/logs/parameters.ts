import { httpErrors } from '../../../http/errors/errors.ts'
import { readChoice, readTimeRange, readUuid } from '../../../http/requests/filters.ts'
import { levelNames, levels } from './entry.ts'
import { logErrors } from './errors.ts'
import type { LogFilter, LogPosition, RequestFilter, StatusRange } from './queries.ts'

/** Parameters of the lists. They are read by hand, for the messages. */

/** @throws AppError invalid_list_parameter */
export function readLogFilter(query: {
  readonly level?: string | undefined
  readonly q?: string | undefined
  readonly requestId?: string | undefined
}): LogFilter {
  return {
    level: readOptional(query.level, (text) => levels[readChoice('level', text, levelNames)]),
    text: query.q === '' ? undefined : query.q,
    requestId: query.requestId,
  }
}

export type RequestParameters = {
  readonly [name in
    | 'method'
    | 'path'
    | 'status'
    | 'min_duration_ms'
    | 'user_id'
    | 'api_key_id'
    | 'app_id'
    | 'request_id'
    | 'from'
    | 'to']?: string | undefined
}

/** @throws AppError invalid_list_parameter, reversed_time_range */
export function readRequestFilter(query: RequestParameters): RequestFilter {
  return {
    ...readTimeRange({ from: query.from, to: query.to }),
    method: query.method,
    path: query.path,
    requestId: query.request_id,
    status: query.status === undefined ? undefined : readStatus(query.status),
    leastMs: readOptional(query.min_duration_ms, readDuration),
    userId: readOptional(query.user_id, (text) => readUuid('user_id filter', text)),
    keyId: readOptional(query.api_key_id, (text) => readUuid('api_key_id filter', text)),
    appId: readOptional(query.app_id, (text) => readUuid('app_id filter', text)),
  }
}

/** `404`, or `4xx` for all from 400. */
function readStatus(text: string): StatusRange {
  const [, first, rest] = /^([1-5])(\d\d|xx)$/.exec(text) ?? []
  if (first === undefined || rest === undefined)
    throw httpErrors.invalidListParameter('status filter', 'expected an HTTP status')
  const least = Number(first) * 100 + (rest === 'xx' ? 0 : Number(rest))
  return { least, most: rest === 'xx' ? least + 99 : least }
}

function readDuration(text: string): number {
  if (!/^\d{1,9}(\.\d{1,3})?$/.test(text))
    throw httpErrors.invalidListParameter('min_duration_ms filter', 'expected a number of milliseconds')
  return Number(text)
}

/** @throws AppError invalid_log_cursor */
export function readCursor(text: string): LogPosition {
  const [, time = '', id = ''] = /^(\d{1,15})_(-?\d{1,18})$/.exec(text) ?? []
  if (id === '') throw logErrors.invalidLogCursor()
  return { time: new Date(Number(time)), id }
}

/** The `nextCursor` that {@link readCursor} reads. */
export function writeCursor({ time, id }: LogPosition): string {
  return `${time.getTime()}_${id}`
}

function readOptional<Value>(text: string | undefined, read: (text: string) => Value): Value | undefined {
  return text === undefined ? undefined : read(text)
}
