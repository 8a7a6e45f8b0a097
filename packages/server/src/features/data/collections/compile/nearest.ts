import { type Slot, type Sql, sql } from '../../../../database/sql.ts'
import { readableRowKey } from '../plan/reader.ts'
import { distanceName, type NearestPlan } from '../plan/vector.ts'
import { compileSelectList, neededColumns } from './record.ts'
import { compileFrom } from './rows.ts'
import { compileColumns, compileNearestRows, compileQueryVector } from './vector.ts'

/** Alias of the collection's rows. */
const row = 't'

/** Compiles a nearest-neighbour list. Returns one row: the nearest records as a JSON array, and their number. */
export function compileNearest(plan: NearestPlan): Sql {
  return compileRows(plan, (items) => sql.join([items, sql`count(*)`]))
}

/** Compiles a query whose value is the list of nearest records as a JSON array. @param slot slot of the vector */
export function compileNearestItems(plan: NearestPlan, slot: Slot): Sql {
  return compileRows(plan, (items) => items, slot)
}

function compileRows(
  { record, rows, vector, limit }: NearestPlan,
  select: (items: Sql) => Sql,
  slot?: Slot,
): Sql {
  const key = readableRowKey(record.relation, record.reader)
  const needed = new Set([...neededColumns(record), ...key])
  const nearest = compileNearestRows(vector, {
    name: 'nearest',
    from: (alias, further) => compileFrom(rows, alias, further),
    columns: compileColumns(needed, row),
    limit,
    alias: row,
    distance: distanceName,
  })
  const distance = sql.id(row, distanceName)
  const order = [distance, ...key.filter(({ type }) => type.hasOrder).map(({ name }) => sql.id(row, name))]
  const list = compileSelectList(record, row)
  // A selection has the distance where the client names it.
  const members = record.selection === undefined ? sql.join([list, distance]) : list
  return sql`
    with ${sql.join([compileQueryVector(vector, slot), ...nearest])}
    select ${select(sql`
      coalesce(json_agg((
        select row_to_json(s.*) from (select ${members}) s
      ) order by ${sql.join(order)}), '[]')`)}
    from nearest ${sql.id(row)}
    -- The direction of zeros cannot be compared.
    where ${distance} <> 'NaN'`
}
