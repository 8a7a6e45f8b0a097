import type { LogEvent } from './event.ts'

/** Row of an event: the current version, or the version before an update or delete. */
export interface Row {
  readonly event: LogEvent
  readonly isOld: boolean
  /** Row as JSON with all columns, because policies and filters may name any. */
  readonly json: string
}

/** Returns the rows of an event; none for an event that is a gap. */
export function rowsOf(event: LogEvent): readonly Row[] {
  if (event.isGap) return []
  const row = { event, isOld: event.action === 'delete', json: wholeRow(event) }
  if (event.oldRecord === null) return [row]
  return [row, { event, isOld: true, json: withMembers(event.oldRecord, event.oldHidden) }]
}

/** Returns the JSON of the row after the event, or of the deleted row. */
export function wholeRow({ record, hidden }: LogEvent): string {
  return withMembers(record, hidden)
}

/** Concatenates the texts, because parsing and printing would lose digits of large numbers. Neither object is empty. */
function withMembers(object: string, further: string | null): string {
  if (further === null) return object
  return `${object.slice(0, object.lastIndexOf('}'))},${further.slice(further.indexOf('{') + 1)}`
}

export function toJsonArray(rows: readonly Row[]): string {
  return `[${rows.map(({ json }) => json).join()}]`
}
