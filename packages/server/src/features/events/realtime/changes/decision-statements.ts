import type { Policy, Relation } from '../../../../database/catalog/model.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import {
  applicablePolicies,
  combinePolicies,
  compileRecords,
  ordinalColumn,
  type PolicyReader,
} from '../../../data/policies/index.ts'
import { valuesAlias } from './filter.ts'

/**
 * Statements that decide about rows as they stood in the log, without their table: a deleted row can be decided as
 * well as one that has changed again. Rows come in as a JSON array, answers are places in it, from 1.
 */

/** Returns the policies that decide which rows may be read. */
function readPolicies(relation: Relation, reader: PolicyReader): readonly Policy[] {
  return applicablePolicies(relation, reader, 'SELECT')
}

/** Returns whether rows of other tables decide, too, which rows of this one callers may read. */
export function readsRelations(relation: Relation, reader: PolicyReader): boolean {
  return relation.rlsEnabled && readPolicies(relation, reader).some((policy) => policy.readsRelations)
}

/** Returns the columns by which policies decide which rows may be read; undefined: all. */
export function columnsOfPolicies(relation: Relation, reader: PolicyReader): readonly string[] | undefined {
  const columns = new Set<string>()
  for (const policy of readPolicies(relation, reader)) {
    if (policy.columns === undefined) return undefined
    for (const column of policy.columns) columns.add(column)
  }
  return [...columns]
}

/**
 * Selects the rows that policies let the caller read, by the policies' own expressions.
 *
 * @param rows a parameter
 * @returns undefined where no policy permits anything
 */
export function compileVisible(relation: Relation, reader: PolicyReader, rows: Sql): Sql | undefined {
  const condition = combinePolicies(readPolicies(relation, reader), 'using')
  if (condition === undefined) return undefined
  return sql`
    select ${ordinalColumn(relation)}
    from ${compileRecords(relation, rows)}
    where ${condition}`
}

/**
 * Selects the same, and place 0 if the functions of Basalt are those that the policies were understood by.
 *
 * @param helpers their object ids and versions, in the order of the ids
 */
export function compileVisibleToUnnamed(
  relation: Relation,
  rows: Sql,
  helpers: { readonly oids: Sql; readonly versions: Sql },
): Sql | undefined {
  const visible = compileVisible(relation, 'caller', rows)
  return (
    visible &&
    sql`
    ${visible}
    union all
    select 0 where ${helpers.versions}::text[] = array(
      select f.xmin::text from pg_catalog.pg_proc f where f.oid = any (${helpers.oids}::oid[]) order by f.oid)`
  )
}

/**
 * Selects pairs of a row and a filter that it passes, by their places, for filters of one shape.
 *
 * @param condition on a row of the table's name and the values of a filter
 * @param values those of the filters, a list per value of the shape
 */
export function compilePassing(
  relation: Relation,
  rows: Sql,
  condition: Sql,
  values: readonly (readonly string[])[],
): Sql {
  const columns = values.map((_, index) => sql.id(`v${index}`))
  return sql`
    select ${ordinalColumn(relation)} as row, ${sql.id(valuesAlias, 'place')} as filter
    from ${compileRecords(relation, rows)}
    join unnest(${sql.join(values.map((list) => sql`${list}::text[]`))}) with ordinality
      as ${sql.id(valuesAlias)} (${sql.join([...columns, sql`place`])})
      on ${condition}`
}

/** Selects the rows with these columns only, as JSON texts in their order. */
export function compileRestricted(rows: Sql, columns: readonly string[]): Sql {
  return sql`
    select (
      select coalesce(json_object_agg(m.key, m.value), '{}')
      from json_each(given.record) m
      where m.key = any (${columns})
    )::text as record
    from json_array_elements(${rows}::json) with ordinality as given (record, place)
    order by given.place`
}
