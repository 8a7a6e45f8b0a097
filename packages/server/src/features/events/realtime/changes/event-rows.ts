import type { LogEvent } from './event.ts'

/** Some row of a batch: that of the event with the index, as it is or as it was before. */
export type RowName = `new ${number}` | `old ${number}`

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
    if (event.action === 'delete') return [{ name: `old ${index}`, json: event.record }]
    const row: Row = { name: `new ${index}`, json: event.record }
    return event.oldRecord === null ? [row] : [row, { name: `old ${index}`, json: event.oldRecord }]
  })
}

export function toJsonArray(rows: readonly Row[]): string {
  return `[${rows.map(({ json }) => json).join()}]`
}
