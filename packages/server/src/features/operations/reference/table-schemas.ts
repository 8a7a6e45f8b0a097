import type { Column } from '../../../database/catalog/model.ts'
import { describeColumnSchema, isRequired, type JsonSchema } from './column-schema.ts'
import type { DescribedTable } from './described-table.ts'
import { type Entry, optional, reference, type StaticDocument } from './document-parts.ts'

/**
 * Returns the components of a collection: its records, as they are read and written, and the schemas that
 * contain them.
 */
export function schemasOf({ components }: StaticDocument, table: DescribedTable): Entry[] {
  const { name, writable, can } = table
  const properties = describeColumns(writable)
  const required = writable.filter(isRequired).map((column) => column.name)
  const schemas: readonly (readonly [isPresent: boolean, suffix: string, schema: object])[] = [
    [true, '', describeRecord(table)],
    [can.create, 'Create', { type: 'object', properties, ...optional('required', required) }],
    [can.updateAll, 'Update', { type: 'object', properties, minProperties: 1 }],
    [true, 'Page', withRecords(components.schemas.RecordPage, name)],
    [can.updateAll, 'UpdateResult', withRecords(components.schemas.RecordsUpdateResult, name)],
    [can.deleteAll, 'DeleteResult', withRecords(components.schemas.RecordsDeleteResult, name)],
    [can.create || can.update || can.delete, 'Batch', describeBatch(table)],
  ]
  return schemas.flatMap(([isPresent, suffix, schema]) => (isPresent ? [[`${name}${suffix}`, schema]] : []))
}

/** Returns a static component that has `items`, with those of the table. Its descriptions stay in the static one. */
function withRecords(schema: JsonSchema = {}, name: string): object {
  const items = { type: 'array', items: reference(name) }
  const copy: JsonSchema = JSON.parse(
    JSON.stringify(schema, (member, value) => (member === 'description' ? undefined : value)),
  )
  return { ...copy, properties: { ...(copy.properties as object), items } }
}

function describeBatch({ name, can }: DescribedTable): object {
  const id = { type: ['string', 'integer'] }
  const describe = (method: string, members: object, options: object = {}) => ({
    type: 'object',
    required: ['method', ...Object.keys(members)],
    properties: { method: { const: method }, ...members, ...options },
  })
  const conflict = {
    onConflict: { type: ['string', 'array'], items: { type: 'string' } },
    onConflictAction: { enum: ['update', 'ignore'] },
  }
  const operations = [
    ...(can.create ? [describe('create', { body: reference(`${name}Create`) }, conflict)] : []),
    ...(can.update ? [describe('update', { id, body: reference(`${name}Update`) })] : []),
    ...(can.delete ? [describe('delete', { id })] : []),
  ]
  return {
    type: 'object',
    required: ['operations'],
    properties: { operations: { type: 'array', minItems: 1, maxItems: 1000, items: { oneOf: operations } } },
  }
}

function describeRecord({ relation, columns, relationships }: DescribedTable): JsonSchema {
  const related = relationships.map(({ name, isMany, to }) => {
    const record = reference(to)
    return [name, isMany ? { type: 'array', items: record } : { anyOf: [record, { type: 'null' }] }] as const
  })
  // A column of this name replaces the related records.
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

/** Describes columns. The object is built from entries, because a column may be called `__proto__`. */
function describeColumns(columns: readonly Column[]): Readonly<Record<string, JsonSchema>> {
  return Object.fromEntries(columns.map((column) => [column.name, describeColumnSchema(column)]))
}
