import type { PickerKind } from './kinds.ts'

/** Values of the browser's pickers, which know fewer digits than PostgreSQL. Only a picked value replaces the text. Pure. */

const dateTime = /^\s*(\d{4}-\d\d-\d\d)?[ T]?(\d\d:\d\d(?::\d\d)?)?(?:\.\d+)?\s*([-+]\d\d(?::?\d\d)*|Z)?\s*$/

/** Returns the value that a picker shows for a text; empty if it cannot show it. */
export function pickerValue(picker: PickerKind, text: string): string {
  if (picker === 'color') return /^\s*#[0-9a-f]{6}\s*$/i.test(text) ? text.trim().toLowerCase() : '#000000'
  const [, date = '', time = ''] = dateTime.exec(text) ?? []
  if (picker === 'date') return date
  return picker === 'time' ? time : date === '' || time === '' ? '' : `${date}T${time}`
}

/** Returns the text of a picked value, in the time zone of the text before. */
export function pickedText(picker: PickerKind, type: string, picked: string, before: string): string {
  if (picker === 'color' || picker === 'date') return picked
  const zone = dateTime.exec(before)?.[3] ?? (/with time zone|tz$/.test(type) ? '+00' : '')
  return picked.replace('T', ' ') + zone
}
