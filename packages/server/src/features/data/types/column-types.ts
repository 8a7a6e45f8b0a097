import type { ColumnType } from '../../../database/catalog/model.ts'

/** Direction of a type: of a value that is read or that may be written. */
export type Direction = 'read' | 'write'

/** Returns the type of a column's value after its JSON is parsed, NULL aside. */
export function printType(type: ColumnType, direction: Direction): string {
  if (type.element !== undefined) return `(${printType(type.element, direction)} | null)[]`
  if (type.attributes !== undefined) {
    const members = type.attributes.map(
      ({ name, type: inner }) => `${printName(name)}: ${printType(inner, direction)} | null`,
    )
    return `{ ${members.join('; ')} }`
  }
  if (type.enumLabels !== undefined) return printEnum(type.enumLabels)
  const digits = direction === 'read' ? 'Exact' : 'ExactInput'
  switch (type.base) {
    case 'int8':
    case 'numeric':
      return digits
    case 'json':
    case 'jsonb':
      return 'Json'
    case 'geometry':
    case 'geography':
      if (type.spatialSchema !== undefined) return direction === 'read' ? 'Geometry' : 'Geometry | string'
      break
    case 'vector':
    case 'halfvec':
      if (type.vectorSchema !== undefined) return 'number[]'
      break
  }
  if (type.json === 'boolean') return 'boolean'
  return type.json === 'integer' || type.json === 'number' ? 'number' : 'string'
}

export function printEnum(labels: readonly string[]): string {
  return labels.length === 0 ? 'never' : labels.map(printText).join(' | ')
}

/** Returns the name of a member, without quotes where TypeScript allows it. */
export function printName(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : printText(name)
}

/** Returns a literal in single quotes, on one line. */
export function printText(text: string): string {
  const escaped = JSON.stringify(text).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")
  return `'${escaped.replaceAll('\u2028', '\\u2028').replaceAll('\u2029', '\\u2029')}'`
}
