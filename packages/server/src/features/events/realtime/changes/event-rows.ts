import type { LogEvent } from './event.ts'

/** The row of an event: as it is now, or as it was before an update or a delete. */
export interface Row {
  readonly event: LogEvent
  readonly isOld: boolean
  /** With all of its columns, as policies and filters may name any. */
  readonly json: string
}

/** Empty for an event that is a gap. */
export function rowsOf(event: LogEvent): readonly Row[] {
  if (event.isGap) return []
  const row = { event, isOld: event.action === 'delete', json: wholeRow(event) }
  if (event.oldRecord === null) return [row]
  return [row, { event, isOld: true, json: withMembers(event.oldRecord, event.oldHidden) }]
}

/** JSON of the row as it is now, or as it was deleted. */
export function wholeRow({ record, hidden }: LogEvent): string {
  return withMembers(record, hidden)
}

/** Joins the texts: parsing and printing would lose digits of large numbers. Neither object is empty. */
function withMembers(object: string, further: string | null): string {
  if (further === null) return object
  return `${object.slice(0, object.lastIndexOf('}'))},${further.slice(further.indexOf('{') + 1)}`
}

export function toJsonArray(rows: readonly Row[]): string {
  return `[${rows.map(({ json }) => json).join()}]`
}
