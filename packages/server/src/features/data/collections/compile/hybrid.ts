import { type Slot, type Sql, sql } from '../../../../database/sql.ts'
import { type HybridPlan, hybridNames } from '../plan/hybrid.ts'
import type { OrderKey } from '../plan/order.ts'
import { compileComparison } from './comparison.ts'
import { compileKey } from './keyset.ts'
import { compileSelectList, neededColumns } from './record.ts'
import { relationName } from './relation.ts'
import { compileFrom } from './rows.ts'
import { compileRank } from './search.ts'
import { compileColumns, compileNearestRows, compileQueryVector } from './vector.ts'

/** Alias of the collection's rows. */
const row = 't'

/** Constant that dampens the first ranks (Cormack, Clarke, Büttcher: Reciprocal Rank Fusion, SIGIR 2009). */
const damping = 60

const score = sql.id(hybridNames.score)
const rank = sql.id(hybridNames.rank)
const distance = sql.id(hybridNames.distance)

/**
 * Compiles a hybrid search. Returns one row: the page as a JSON array, and the number of records that the two legs
 * have found together.
 */
export function compileHybrid(plan: HybridPlan): Sql {
  return compilePage(plan, (items) => sql.join([items, sql`(select count(*) from fused)`]))
}

/** Compiles a query whose value is the page of a hybrid search as a JSON array. @param slot slot of the vector */
export function compileHybridItems(plan: HybridPlan, slot: Slot): Sql {
  return compilePage(plan, (items) => items, slot)
}

function compilePage(plan: HybridPlan, select: (items: Sql) => Sql, slot?: Slot): Sql {
  const { record, found, search, near, vector, keys, legLimit, perPage, offset } = plan
  const named = keys.map((key, index) => ({ key, name: sql.id(`k${index}`) }))
  const names = sql.join(named.map(({ name }) => name))
  const selected = named.map(({ key, name }) => sql`${compileKey(key, row)} as ${name}`)
  const nearest = compileNearestRows(vector, {
    name: 'nearest',
    from: (alias, further) => compileFrom(near, alias, further),
    columns: selected,
    limit: legLimit,
    alias: row,
    distance: hybridNames.distance,
  })
  const same = (one: string, other: string) =>
    sql.join(
      named.map(({ key }, index) =>
        compileComparison(key.column?.type, sql.id(one, `k${index}`), '=', sql.id(other, `k${index}`)),
      ),
      sql` and `,
    )
  const either = named.map(({ name }) => sql`coalesce(w.${name}, m.${name}) as ${name}`)
  const reciprocalRank = (ordinal: Sql) =>
    sql`coalesce(1::float8 / (${sql.integer(damping)} + ${ordinal}), 0)`
  return sql`
    with ${sql.join([compileQueryVector(vector, slot), ...nearest])},
    meaning as (
      select *, row_number() over (order by ${distance}, ${names}) as ordinal from nearest
      -- The direction of zeros cannot be compared.
      where ${distance} <> 'NaN'
    ),
    found as (
      select ${sql.join([...selected, sql`${compileRank(search, row)} as ${rank}`])}
      ${compileFrom(found, row)}
      order by ${rank} desc, ${names} limit ${sql.integer(legLimit)}
    ),
    words as (
      select *, row_number() over (order by ${rank} desc, ${names}) as ordinal from found
    ),
    fused as materialized (
      select ${sql.join(either)}, w.${rank}, m.${distance},
        ${reciprocalRank(sql`w.ordinal`)} + ${reciprocalRank(sql`m.ordinal`)} as ${score}
      from words w full join meaning m on ${same('w', 'm')}
    ),
    page as materialized (
      select *, row_number() over (order by ${score} desc, ${names}) as ordinal from fused
      order by ordinal limit ${sql.integer(perPage)} offset ${String(offset)}
    )
    select ${select(sql`coalesce(json_agg(r.record order by r.ordinal), '[]')`)}
    from (
      -- The ordinal stays beside the row, whose columns may have any name.
      select ${compileItem(plan)} as record, p.ordinal
      from page p, lateral (
        select ${sql.join([...compileColumns(neededColumns(record), row), sql`p.${score}, p.${rank}, p.${distance}`])}
        from ${relationName(record.relation)} ${sql.id(row)}
        where ${joinPage(named.map(({ key }) => key))}
      ) ${sql.id(row)}
    ) r`
}

function joinPage(keys: readonly OrderKey[]): Sql {
  return sql.join(
    keys.map((key, index) =>
      compileComparison(key.column?.type, compileKey(key, row), '=', sql.id('p', `k${index}`)),
    ),
    sql` and `,
  )
}

/** Compiles the record with its ranks. A leg that has not found the record gives no member, not a null. */
function compileItem({ record }: HybridPlan): Sql {
  // A selection has the ranks that the client names.
  if (record.selection !== undefined) {
    return sql`(select row_to_json(s.*) from (select ${compileSelectList(record, row)}) s)`
  }
  const item = sql`
    select row_to_json(s.*) from (select ${compileSelectList(record, row)}, ${sql.id(row, hybridNames.score)}) s`
  const member = (name: string) =>
    sql`coalesce(',"' || ${sql.literal(name)} || '":' || to_json(${sql.id(row, name)}), '')`
  return sql`(
    left((${item})::text, -1) || ${member(hybridNames.rank)} || ${member(hybridNames.distance)} || '}'
  )::json`
}
