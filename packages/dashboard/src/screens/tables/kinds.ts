import type { ColumnInfo, RelationInfo, TableInfo } from './api.ts'

/** Kind of editor for the values of a column. */
export type EditorKind = 'line' | 'text' | 'choice' | 'document' | 'bytes' | 'geometry'

export function editorKind({ type, enumValues, isGeometry }: ColumnInfo): EditorKind {
  if (type === 'boolean' || enumValues !== undefined) return 'choice'
  if (isGeometry === true) return 'geometry'
  if (type === 'json' || type === 'jsonb') return 'document'
  if (type === 'bytea') return 'bytes'
  if (type.endsWith('[]') || type === 'xml' || type === 'tsvector') return 'text'
  return 'line'
}

/** Returns true if only PostgreSQL sets the values of the column. */
export const isComputed = ({ isGenerated, identity }: ColumnInfo) =>
  isGenerated === true || identity === 'always'

/** Returns the possible values, as PostgreSQL prints them. */
export function choicesOf({ type, enumValues = [] }: ColumnInfo): readonly string[] {
  return type === 'boolean' ? ['true', 'false'] : enumValues
}

/** Returns the relation of a single-column foreign key. */
export function referenceOf({ relations }: TableInfo, column: string): RelationInfo | undefined {
  return relations.find(
    ({ kind, pairs }) => kind === 'many-to-one' && pairs.length === 1 && pairs[0]?.from === column,
  )
}

/** Returns the error in a text as a value of the column, as far as the page can check it. */
export function faultOf(
  { type, nullable, hasDefault }: ColumnInfo,
  value: string | null,
): string | undefined {
  if (value === null) return nullable || hasDefault === true ? undefined : 'NULL is not allowed here'
  if (/^(smallint|integer|bigint)$/.test(type) && !/^\s*[-+]?\d+\s*$/.test(value)) {
    return 'expected a whole number'
  }
  if (/^(numeric|real|double precision)/.test(type) && !type.endsWith('[]')) {
    const isNumber = /^\s*[-+]?(\d+\.?\d*|\.\d+)(e[-+]?\d+)?\s*$/i.test(value)
    if (!isNumber && !/^\s*([-+]?inf(inity)?|nan)\s*$/i.test(value)) return 'expected a number'
  }
  if (type === 'uuid' && !/^\s*\{?[0-9a-f]{8}-?([0-9a-f]{4}-?){3}[0-9a-f]{12}\}?\s*$/i.test(value)) {
    return 'expected a UUID'
  }
  if (type === 'json' || type === 'jsonb') {
    try {
      JSON.parse(value)
    } catch (error) {
      return error instanceof Error ? error.message : 'expected JSON'
    }
  }
  return undefined
}
