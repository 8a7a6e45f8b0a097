import type { ColumnType } from '../../../../database/catalog/model.ts'
import { parseJson } from '../../../../lib/json.ts'
import { sliceArray, sliceObject } from '../../../../lib/json-slices.ts'
import type { ColumnMeaning } from '../schema/meaning.ts'
import { toValueName } from '../schema/names.ts'

/** Values of logged records as responses have them. The log has them as the REST API does. */

export type RecordAction = 'create' | 'update' | 'delete'

/** Member of a response: a column, the kind of the change, or the name of the type. */
export interface EventMember {
  /** JSON text of the key. */
  readonly name: string
  readonly value: ColumnMeaning | { readonly kind: 'action' } | string
}

/** Returns the JSON text of a change with these members. */
export function formatEvent(members: readonly EventMember[], action: RecordAction, record: string): string {
  const values = sliceObject(record)
  const texts = members.map(({ name, value }) => {
    if (typeof value === 'string') return `${name}:${JSON.stringify(value)}`
    if (value.kind === 'action') return `${name}:"${action}"`
    const text = values.get(value.column.name)
    return `${name}:${text === undefined ? 'null' : formatValue(value, text, action === 'delete')}`
  })
  return `{${texts.join()}}`
}

/** @param isKey true for a value of a key, which the log has as a text */
function formatValue(meaning: ColumnMeaning, logged: string, isKey: boolean): string {
  const { column, isText } = meaning
  const text = isKey ? restore(column.type, logged) : logged
  if (text === 'null') return text
  if (isText) return quote(column.type, text)
  return column.type.enumLabels === undefined ? text : nameLabel(meaning, text)
}

/** Returns the JSON text of a value from its text: `"7"` → `7`. */
function restore({ json, base }: ColumnType, logged: string): string {
  const text = parseJson(logged)
  if (typeof text !== 'string') return logged
  if (json === 'string' && base !== 'json' && base !== 'jsonb') return logged
  // A numeric that is not a number is a text in JSON, too.
  return parseJson(text) === undefined ? logged : text
}

/** Returns a number as a string, so that no digit is lost. A vector, which JSON has as a list, is one text. */
function quote(type: ColumnType, text: string): string {
  if (text === 'null' || text.startsWith('"')) return text
  const { element } = type
  if (element === undefined || !text.startsWith('[')) return JSON.stringify(text)
  const isVector = element.vectorSchema !== undefined
  // An array may have several dimensions.
  const parts = sliceArray(text).map((part) =>
    quote(part.startsWith('[') && !isVector ? type : element, part),
  )
  return `[${parts.join()}]`
}

/** Returns the name of an enum label, which may be newer than the subscription. */
function nameLabel({ renamed }: ColumnMeaning, text: string): string {
  const label = parseJson(text)
  if (typeof label !== 'string') return text
  return JSON.stringify(renamed?.get(label) ?? toValueName(label))
}
