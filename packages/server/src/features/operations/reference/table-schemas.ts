import type { Column } from '../../../database/catalog/model.ts'
import { describeColumnSchema, isRequired, type JsonSchema } from './column-schema.ts'
import type { DescribedTable } from './described-table.ts'
import { type Entry, optional, reference } from './document-parts.ts'

/** The records of a collection, as they are read and written. */
export function schemasOf(table: DescribedTable): Entry[] {
  const { name, writable, can } = table
  const properties = describeColumns(writable)
  const required = writable.filter(isRequired).map((column) => column.name)
  const schemas: Entry[] = [[`${name}.record`, describeRecord(table)]]
  if (can.create)
    schemas.push([`${name}.create`, { type: 'object', properties, ...optional('required', required) }])
  if (can.updateAll) schemas.push([`${name}.update`, { type: 'object', properties, minProperties: 1 }])
  return schemas
}

function describeRecord({ relation, columns, relationships }: DescribedTable): JsonSchema {
  const related = relationships.map(({ name, isMany, to }) => {
    const record = reference(`${to}.record`)
    return [name, isMany ? { type: 'array', items: record } : { anyOf: [record, { type: 'null' }] }] as const
  })
  // A column of this name takes the place of related records.
  const hasExpand = related.length > 0 && !relation.column.has('expand')
  return {
    type: 'object',
    ...optional('description', relation.comment),
    properties: {
      ...describeColumns(columns),
      ...(hasExpand
        ? { expand: { type: 'object', readOnly: true, properties: Object.fromEntries(related) } }
        : {}),
    },
    ...optional(
      'required',
      columns.map(({ name }) => name),
    ),
  }
}

/** Built from entries: a column may be called `__proto__`. */
function describeColumns(columns: readonly Column[]): Readonly<Record<string, JsonSchema>> {
  return Object.fromEntries(columns.map((column) => [column.name, describeColumnSchema(column)]))
}
