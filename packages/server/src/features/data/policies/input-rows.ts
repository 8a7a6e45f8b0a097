import type { Relation } from '../../../database/catalog/model.ts'
import { type Sql, sql } from '../../../database/sql.ts'
import { compileBodyTypes, compileBodyValue } from '../collections/index.ts'

/**
 * Input rows of a statement, for a `from`. They have the table's own type and its own name, by which policies refer
 * to them, and are not read from the table. Results refer to their ordinals, from 1.
 */

const input = sql.id('basalt input')

/**
 * Returns free names for the input. A policy refers to the table's columns without the table's name, so these names
 * must differ.
 */
function nameColumns({ column }: Relation) {
  const free = (name: string): string => (column.has(name) ? free(`${name}_`) : name)
  return { row: free('basalt row'), ordinal: free('basalt ordinal'), list: free('basalt list') }
}

/** Compiles the ordinal of an input row. */
export function ordinalColumn(relation: Relation): Sql {
  return sql.id('basalt input', nameColumns(relation).ordinal)
}

/** @param rows a JSON array of records, as a list returns them */
export function compileRecords(relation: Relation, rows: Sql): Sql {
  const { schema, name, columns } = relation
  const { row, ordinal, list } = nameColumns(relation)
  const values = columns.map((column) => compileBodyValue(column, 'basalt body'))
  return sql`
    json_array_elements(${rows}::json) with ordinality as ${input} (${sql.id(row)}, ${sql.id(ordinal)})
    cross join lateral (
      select array[row(${sql.join(values)})::${sql.id(schema, name)}] as ${sql.id(list)}
      from json_to_record(${sql.id('basalt input', row)}) as "basalt body" (${compileBodyTypes(columns)})
    ) as "basalt rows"
    cross join lateral unnest(${sql.id('basalt rows', list)}) as ${sql.id(name)}`
}

/** @param rows an array of texts, each a row of the table as PostgreSQL writes it, which keeps every value exactly */
export function compileStoredRows(relation: Relation, rows: Sql): Sql {
  const { schema, name } = relation
  const { row, ordinal } = nameColumns(relation)
  return sql`
    unnest(${rows}::text[]) with ordinality as ${input} (${sql.id(row)}, ${sql.id(ordinal)})
    cross join lateral unnest(array[${sql.id('basalt input', row)}::${sql.id(schema, name)}]) as ${sql.id(name)}`
}
