// Tests of other packages check this file by their own settings.
/// <reference path="../lib/json-source.d.ts" />
import pg from 'pg'

/** Parser of the text that Postgres prints for a value. */
export type ReadValue = (text: string) => unknown

const { BOOL, INT2, INT4, INT8, NUMERIC, FLOAT4, FLOAT8, OID, JSON: PLAIN_JSON, JSONB } = pg.types.builtins

/**
 * Returns the function that converts values of a type to JSON, by object id. Types without a JSON form stay
 * texts.
 */
export function jsonReader(oid: number): ReadValue {
  const element = elementTypes.get(oid)
  if (element !== undefined) return (text) => readArray(text, jsonReader(element))
  switch (oid) {
    case BOOL:
      return (text) => text === 't'
    case INT2:
    case INT4:
    case INT8:
    case NUMERIC:
    case FLOAT4:
    case FLOAT8:
      return rawNumber
    case PLAIN_JSON:
    case JSONB:
      return (text) => JSON.parse(text, keepDigits)
    default:
      return (text) => text
  }
}

/**
 * Element types of the array types whose elements have a JSON form, and of the common texts, by object id
 * (pg_type.dat).
 */
const elementTypes: ReadonlyMap<number, number> = new Map<number, number>([
  [1000, BOOL],
  [1005, INT2],
  [1007, INT4],
  [1016, INT8],
  [1231, NUMERIC],
  [1021, FLOAT4],
  [1022, FLOAT8],
  [1028, OID],
  [199, PLAIN_JSON],
  [3807, JSONB],
  [1003, pg.types.builtins.TEXT], // name
  [1009, pg.types.builtins.TEXT],
  [1014, pg.types.builtins.BPCHAR],
  [1015, pg.types.builtins.VARCHAR],
  [2951, pg.types.builtins.UUID],
  [1182, pg.types.builtins.DATE],
  [1115, pg.types.builtins.TIMESTAMP],
  [1185, pg.types.builtins.TIMESTAMPTZ],
])

/** Returns a number as it is written; `NaN` and `Infinity` are no JSON numbers and stay texts. */
function rawNumber(text: string): unknown {
  return /^-?\d+(\.\d+)?(e[+-]?\d+)?$/.test(text) ? JSON.rawJSON(text) : text
}

function keepDigits(_key: string, value: unknown, context: { readonly source?: string }): unknown {
  return typeof value === 'number' && context.source !== undefined ? JSON.rawJSON(context.source) : value
}

/**
 * Parses an array such as `{1,NULL,"a \"b\""}`, nested, or with bounds as in `[0:1]={1,2}` (PostgreSQL, Array
 * Output Syntax).
 */
function readArray(text: string, readElement: ReadValue): unknown[] {
  let position = text.indexOf('{')
  const readQuoted = () => {
    let content = ''
    for (position += 1; text[position] !== '"'; position += 1) {
      if (text[position] === '\\') position += 1
      content += text[position]
    }
    position += 1
    return readElement(content)
  }
  const readPlain = () => {
    const start = position
    while (text[position] !== ',' && text[position] !== '}') position += 1
    const content = text.slice(start, position)
    return content === 'NULL' ? null : readElement(content)
  }
  const readList = () => {
    const items: unknown[] = []
    position += 1
    while (text[position] !== '}') {
      if (text[position] === '{') items.push(readList())
      else items.push(text[position] === '"' ? readQuoted() : readPlain())
      if (text[position] === ',') position += 1
    }
    position += 1
    return items
  }
  return readList()
}
