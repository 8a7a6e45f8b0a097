import type { ColumnInfo, RelationInfo, TableInfo } from './api.ts'
import type { Test } from './names.ts'

/** Rendering of a value in the grid and in the row panel (`cell-renderers.tsx`). */
export type CellKind = 'text' | 'chip' | 'code' | 'list' | 'shape' | 'color' | 'url' | 'email' | 'file'

/** Editor of a value (`value-editor.tsx`). Lines and choices are also edited in the cell (`cell-editor.tsx`). */
export type EditorKind =
  | ('line' | 'choice' | 'text' | 'document' | 'bytes' | 'geometry')
  | ('range' | 'list' | 'markdown' | 'file')

/** Type of the browser's picker beside a line (`pickers.ts`). */
export type PickerKind = 'date' | 'time' | 'datetime-local' | 'color'

export interface ValueKind {
  readonly cell: CellKind
  readonly editor: EditorKind
  readonly picker?: PickerKind
  /** Tests of the filter builder. The first is the usual one. */
  readonly filter: readonly Test[]
}

const none: readonly Test[] = ['null', 'not null']
const equal: readonly Test[] = ['=', '!=', ...none]
const compare: readonly Test[] = ['=', '!=', '<', '<=', '>', '>=', ...none]
const search: readonly Test[] = ['contains', 'starts', ...compare]
const has: readonly Test[] = ['has', ...equal]

/** Cell, editor and filter of every kind of value. {@link kindOf} finds the kind of a column. */
const kinds = {
  boolean: { cell: 'chip', editor: 'choice', filter: equal },
  enum: { cell: 'chip', editor: 'choice', filter: compare },
  number: { cell: 'text', editor: 'line', filter: compare },
  date: { cell: 'text', editor: 'line', picker: 'date', filter: compare },
  time: { cell: 'text', editor: 'line', picker: 'time', filter: compare },
  timestamp: { cell: 'text', editor: 'line', picker: 'datetime-local', filter: compare },
  range: { cell: 'code', editor: 'range', filter: ['has', 'overlaps', ...equal] },
  multirange: { cell: 'code', editor: 'text', filter: ['has', 'overlaps', ...equal] },
  array: { cell: 'list', editor: 'list', filter: has },
  json: { cell: 'code', editor: 'document', filter: none },
  jsonb: { cell: 'code', editor: 'document', filter: ['has', ...none] },
  bytes: { cell: 'code', editor: 'bytes', filter: none },
  geometry: { cell: 'shape', editor: 'geometry', filter: none },
  uuid: { cell: 'text', editor: 'line', filter: equal },
  text: { cell: 'text', editor: 'line', filter: search },
  long: { cell: 'text', editor: 'text', filter: none },
  other: { cell: 'text', editor: 'line', filter: compare },
  // Texts whose column has a tag in its comment, such as `@color`.
  color: { cell: 'color', editor: 'line', picker: 'color', filter: search },
  url: { cell: 'url', editor: 'line', filter: search },
  email: { cell: 'email', editor: 'line', filter: search },
  markdown: { cell: 'text', editor: 'markdown', filter: search },
  file: { cell: 'file', editor: 'file', filter: search },
} as const satisfies Record<string, ValueKind>

/** Kinds by the name of the type. The first match counts. */
const byType: readonly (readonly [RegExp, keyof typeof kinds])[] = [
  [/^box\[\]$|^(xml|tsvector)/, 'long'],
  [/\[\]$/, 'array'],
  [/^boolean$/, 'boolean'],
  [/^(smallint|integer|bigint|oid|real|double precision|numeric|money)/, 'number'],
  [/^timestamp/, 'timestamp'],
  [/^time/, 'time'],
  [/^date$/, 'date'],
  [/multirange$/, 'multirange'],
  [/range$/, 'range'],
  [/^jsonb$/, 'jsonb'],
  [/^json$/, 'json'],
  [/^bytea$/, 'bytes'],
  [/^uuid$/, 'uuid'],
  [/^(text|character|citext|name$)/, 'text'],
]

/** Returns the kind of a column's values. */
export function kindOf({ type, enumValues, isGeometry, format }: ColumnInfo): ValueKind {
  if (enumValues !== undefined) return kinds.enum
  if (isGeometry === true) return kinds.geometry
  return kinds[format ?? byType.find(([pattern]) => pattern.test(type))?.[1] ?? 'other']
}

/** Returns true if only PostgreSQL sets the values of the column. */
export const isComputed = ({ isGenerated, identity }: ColumnInfo) =>
  isGenerated === true || identity === 'always'

/** Returns the possible values, as PostgreSQL prints them. */
export function choicesOf({ type, enumValues = [] }: ColumnInfo): readonly string[] {
  return type === 'boolean' ? ['true', 'false'] : enumValues
}

/** Returns the foreign key of a column: one of this column alone, or the first of which it is the last column. */
export function referenceOf({ relations }: TableInfo, column: string): RelationInfo | undefined {
  const ending = relations.filter(
    ({ kind, pairs }) => kind === 'many-to-one' && pairs.at(-1)?.from === column,
  )
  return ending.find(({ pairs }) => pairs.length === 1) ?? ending[0]
}

/** Returns true for a column that shows the name of a user or the label of a row. */
export const isLabeled = (info: TableInfo, column: string) =>
  info.people.includes(column) || referenceOf(info, column) !== undefined

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
