import { jsonReader } from '../../../database/json-values.ts'
import { AppError } from '../../../lib/errors.ts'
import type { RunEvent, StatementResult } from './events.ts'

/**
 * Formats a run as one JSON document: the result of its last statement, with values in JSON's own forms and every
 * digit.
 *
 * @throws AppError of the statement that failed
 */
export function answerOf(events: readonly RunEvent[]): string {
  const results: StatementResult[] = []
  const notices: object[] = []
  let durationMs = 0
  let id = ''
  for (const event of events) {
    if (event.type === 'start') id = event.id
    if (event.type === 'error')
      throw new AppError(event.error, event.code, event.message, event.data && { data: event.data })
    if (event.type === 'end') durationMs = event.durationMs
    if (event.type === 'notice') {
      const { type: _type, ...notice } = event
      notices.push(notice)
    }
    if (event.type === 'result') results.push(event)
  }
  const last = results.at(-1)
  return JSON.stringify({
    id,
    columns: last?.columns.map(({ name }) => name) ?? [],
    types: last?.columns.map(({ type }) => type) ?? [],
    rows:
      last?.rows.map((row) => row.map((value, column) => toJson(value, last.columns[column]?.typeId))) ?? [],
    rowCount: last?.rowCount ?? 0,
    durationMs,
    command: last?.command ?? null,
    hasMore: last?.hasMore ?? false,
    statements: results.length,
    notices,
  })
}

/** Converts a value to JSON. A value that is cut, or that has no JSON form, stays a text. */
function toJson(value: string | null, typeId = 0): unknown {
  if (value === null) return null
  try {
    return jsonReader(typeId)(value)
  } catch {
    return value
  }
}
