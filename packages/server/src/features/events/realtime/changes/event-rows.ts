import type { LogEvent } from './event.ts'

/** Some row of a batch: that of the event with the index, as it is or as it was before. */
export type RowName = `new ${number}` | `old ${number}`

/** With all of its columns, as policies and filters may name any. */
export interface Row {
  readonly name: RowName
  readonly json: string
}

/** The rows of some events; a deleted row is an old one. */
export function rowsOf(
  events: readonly LogEvent[],
  test: (event: LogEvent, index: number) => boolean,
): readonly Row[] {
  return events.flatMap((event, index): Row[] => {
    if (!test(event, index)) return []
    if (event.action === 'delete') return [{ name: `old ${index}`, json: wholeRow(event) }]
    const row: Row = { name: `new ${index}`, json: wholeRow(event) }
    const old = wholeOldRow(event)
    return old === null ? [row] : [row, { name: `old ${index}`, json: old }]
  })
}

/** JSON of the row as it is now, or as it was deleted. */
export function wholeRow({ record, hidden }: LogEvent): string {
  return withMembers(record, hidden)
}

/** JSON of the row before an update; null where there was none. */
export function wholeOldRow({ oldRecord, oldHidden }: LogEvent): string | null {
  return oldRecord === null ? null : withMembers(oldRecord, oldHidden)
}

/** Joins the texts: parsing and printing would lose digits of large numbers. Neither object is empty. */
function withMembers(object: string, further: string | null): string {
  if (further === null) return object
  return `${object.slice(0, object.lastIndexOf('}'))},${further.slice(further.indexOf('{') + 1)}`
}

export function toJsonArray(rows: readonly Row[]): string {
  return `[${rows.map(({ json }) => json).join()}]`
}
