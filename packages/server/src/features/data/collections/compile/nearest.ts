import { type Sql, sql } from '../../../../database/sql.ts'
import { distanceName, type NearestPlan } from '../plan/vector.ts'
import { compileSelectList, neededColumns } from './record.ts'
import { compileFrom } from './rows.ts'
import { compileColumns, compileNearestRows, compileQueryVector } from './vector.ts'

/** Alias of the collection's rows. */
const row = 't'

/** One row: the nearest records as a JSON array, and how many they are. */
export function compileNearest({ record, rows, vector, limit }: NearestPlan): Sql {
  const { relation } = record
  const needed = new Set([...neededColumns(record), ...relation.rowKey])
  const nearest = compileNearestRows(vector, {
    name: 'nearest',
    from: (alias, further) => compileFrom(rows, alias, further),
    columns: compileColumns(needed, row),
    limit,
    alias: row,
    distance: distanceName,
  })
  const distance = sql.id(row, distanceName)
  const order = [
    distance,
    ...relation.rowKey.filter(({ type }) => type.hasOrder).map(({ name }) => sql.id(row, name)),
  ]
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
