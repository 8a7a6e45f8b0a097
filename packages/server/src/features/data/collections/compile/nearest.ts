import { type Sql, sql } from '../../../../database/sql.ts'
import { readableRowKey } from '../plan/reader.ts'
import { distanceName, type NearestPlan } from '../plan/vector.ts'
import { compileSelectList, neededColumns } from './record.ts'
import { compileFrom } from './rows.ts'
import { compileColumns, compileNearestRows, compileQueryVector } from './vector.ts'

/** Alias of the collection's rows. */
const row = 't'

/** Compiles a nearest-neighbour list. Returns one row: the nearest records as a JSON array, and their number. */
export function compileNearest({ record, rows, vector, limit }: NearestPlan): Sql {
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
  return sql`
    with ${sql.join([compileQueryVector(vector), ...nearest])}
    select
      coalesce(json_agg((
        select row_to_json(s.*) from (select ${compileSelectList(record, row)}, ${distance}) s
      ) order by ${sql.join(order)}), '[]'),
      count(*)
    from nearest ${sql.id(row)}
    -- The direction of zeros cannot be compared.
    where ${distance} <> 'NaN'`
}
