import type { Catalog, Column, ColumnType, Relation } from '../../../database/catalog/model.ts'
import { printEnum, printName } from './column-types.ts'
import { inOrder } from './print-database.ts'
import type { ViewColumns } from './view-origins.ts'

const head = `// Made by \`basalt types --kysely\` from the database; changes by hand are lost.
import type { ColumnType, Generated, GeneratedAlways } from 'kysely'

export type Json = string | number | boolean | null | Json[] | { [key: string]: Json }
`

/** Prints `DB` for kysely, with values as node-postgres parses them. */
export function printKysely(catalog: Catalog, views: ViewColumns): string {
  const relations = inOrder([...catalog.relations.values()], ({ collection }) => collection)
  return `${head}\nexport interface DB {\n${relations.map((relation) => printRelation(relation, views)).join('\n')}\n}\n`
}

function printRelation(relation: Relation, { isNotNull }: ViewColumns): string {
  const { schema, name, columns, collection, kind } = relation
  const isViewed = kind === 'view' || kind === 'materialized_view'
  const members = columns.map((column) => {
    const isNullable = column.nullable && !(isViewed && isNotNull(schema, name, column.name))
    return `    ${printName(column.name)}: ${printColumn(column, isNullable)}`
  })
  return `  ${printName(collection)}: {\n${members.join('\n')}\n  }`
}

function printColumn(column: Column, isNullable: boolean): string {
  const { read, write } = typesOf(column.type)
  const orNull = (type: string) => (isNullable ? `${type} | null` : type)
  if (column.identity === 'always' || column.isGenerated) return `GeneratedAlways<${orNull(read)}>`
  const type =
    read === write ? orNull(read) : `ColumnType<${orNull(read)}, ${orNull(write)}, ${orNull(write)}>`
  const isGenerated = column.default !== undefined || column.identity !== undefined
  if (!isGenerated) return type
  return read === write
    ? `Generated<${type}>`
    : `ColumnType<${orNull(read)}, ${orNull(write)} | undefined, ${orNull(write)}>`
}

interface Types {
  readonly read: string
  readonly write: string
}

const same = (type: string): Types => ({ read: type, write: type })

/**
 * Returns the types of values that node-postgres parses without custom parsers (brianc/node-pg-types, textParsers).
 */
function typesOf(type: ColumnType): Types {
  if (type.element !== undefined) {
    const { read, write } = typesOf(type.element)
    return { read: `(${read} | null)[]`, write: `(${write} | null)[]` }
  }
  if (type.enumLabels !== undefined) return same(printEnum(type.enumLabels))
  switch (type.base) {
    case 'bool':
      return same('boolean')
    case 'int2':
    case 'int4':
    case 'oid':
    case 'float4':
    case 'float8':
      return same('number')
    case 'int8':
      return { read: 'string', write: 'string | number | bigint' }
    case 'numeric':
      return { read: 'string', write: 'string | number' }
    case 'date':
    case 'timestamp':
    case 'timestamptz':
      return { read: 'Date', write: 'Date | string' }
    case 'json':
    case 'jsonb':
      return { read: 'Json', write: 'Json | string' }
    case 'bytea':
      return same('Buffer')
    case 'point':
      return { read: '{ x: number; y: number }', write: 'string' }
    case 'interval':
      return { read: 'unknown', write: 'string' }
    default:
      return same('string')
  }
}
