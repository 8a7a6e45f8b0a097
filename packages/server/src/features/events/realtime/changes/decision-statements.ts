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
 * Statements that decide about rows as the log has them, without their table. So a deleted row can be decided as well
 * as one that has changed again. Rows are passed as a JSON array, and results are their ordinals, starting at 1.
 */

/** Returns the policies that decide which rows may be read. */
function readPolicies(relation: Relation, reader: PolicyReader): readonly Policy[] {
  return applicablePolicies(relation, reader, 'SELECT')
}

/** Returns true if rows of other tables affect which rows of this one callers may read. */
export function readsRelations(relation: Relation, reader: PolicyReader): boolean {
  return relation.rlsEnabled && readPolicies(relation, reader).some((policy) => policy.readsRelations)
}

/** Returns the columns by which policies decide which rows may be read; undefined means all. */
export function columnsOfPolicies(relation: Relation, reader: PolicyReader): readonly string[] | undefined {
  const columns = new Set<string>()
  for (const policy of readPolicies(relation, reader)) {
    if (policy.columns === undefined) return undefined
    for (const column of policy.columns) columns.add(column)
  }
  return [...columns]
}

/**
 * Compiles a query for the rows that policies let the caller read, by the policies’ own expressions.
 *
 * @param rows a parameter
 * @returns undefined if no policy permits anything
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
 * Compiles the same query, with ordinal 0 if the functions of Basalt have the versions that were analyzed.
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
 * Compiles a query for pairs of a row and a matching filter, by their ordinals, for filters of one shape.
 *
 * @param condition condition on a row with the name of the table and the values of a filter
 * @param values values of the filters, one list for each value of the shape
 */
export function compileMatches(
  relation: Relation,
  rows: Sql,
  condition: Sql,
  values: readonly (readonly string[])[],
): Sql {
  const columns = values.map((_, index) => sql.id(`v${index}`))
  return sql`
    select ${ordinalColumn(relation)} as row, ${sql.id(valuesAlias, 'ordinal')} as filter
    from ${compileRecords(relation, rows)}
    join unnest(${sql.join(values.map((list) => sql`${list}::text[]`))}) with ordinality
      as ${sql.id(valuesAlias)} (${sql.join([...columns, sql`ordinal`])})
      on ${condition}`
}

/** Compiles a query that returns the rows with these columns only, as JSON texts in their order. */
export function compileRestricted(rows: Sql, columns: readonly string[]): Sql {
  return sql`
    select (
      select coalesce(json_object_agg(m.key, m.value), '{}')
      from json_each(input.record) m
      where m.key = any (${columns})
    )::text as record
    from json_array_elements(${rows}::json) with ordinality as input (record, ordinal)
    order by input.ordinal`
}
