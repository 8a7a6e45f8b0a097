import type { Relation } from '../../../database/catalog/model.ts'
import { type Sql, sql } from '../../../database/sql.ts'
import { compileBodyTypes, compileBodyValue } from '../collections/index.ts'

/**
 * Rows that a statement is given, for a `from`: they have the table's own type and its own name, which is how policies
 * speak of them, and are not read from it. Answers speak of their places, from 1.
 */

const given = sql.id('basalt given')

/** Names for what comes in; a policy speaks of the table's columns without the table's name, so they must be others. */
function nameColumns({ column }: Relation) {
  const free = (name: string): string => (column.has(name) ? free(`${name}_`) : name)
  return { row: free('basalt row'), place: free('basalt place'), list: free('basalt list') }
}

/** The place of a row in what was given. */
export function placeColumn(relation: Relation): Sql {
  return sql.id('basalt given', nameColumns(relation).place)
}

/** @param rows a JSON array of records, as a list answers them */
export function compileRecords(relation: Relation, rows: Sql): Sql {
  const { schema, name, columns } = relation
  const { row, place, list } = nameColumns(relation)
  const values = columns.map((column) => compileBodyValue(column, 'basalt body'))
  return sql`
    json_array_elements(${rows}::json) with ordinality as ${given} (${sql.id(row)}, ${sql.id(place)})
    cross join lateral (
      select array[row(${sql.join(values)})::${sql.id(schema, name)}] as ${sql.id(list)}
      from json_to_record(${sql.id('basalt given', row)}) as "basalt body" (${compileBodyTypes(columns)})
    ) as "basalt rows"
    cross join lateral unnest(${sql.id('basalt rows', list)}) as ${sql.id(name)}`
}

/** @param rows an array of texts, each a row of the table as PostgreSQL writes it, which loses nothing of its values */
export function compileStoredRows(relation: Relation, rows: Sql): Sql {
  const { schema, name } = relation
  const { row, place } = nameColumns(relation)
  return sql`
    unnest(${rows}::text[]) with ordinality as ${given} (${sql.id(row)}, ${sql.id(place)})
    cross join lateral unnest(array[${sql.id('basalt given', row)}::${sql.id(schema, name)}]) as ${sql.id(name)}`
}
