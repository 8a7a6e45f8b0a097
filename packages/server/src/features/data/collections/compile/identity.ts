import type { Relation } from '../../../../database/catalog/model.ts'
import { Slot, type Sql, sql } from '../../../../database/sql.ts'
import type { SlotValues } from '../statements.ts'
import { compileComparison } from './comparison.ts'
import { bind } from './filter.ts'

/** The values of a primary key, for the slots of {@link compileIdentity}. */
export function identitySlots(id: readonly string[]): SlotValues {
  return Object.fromEntries(id.map((value, index) => [idSlot(index).name, value]))
}

function idSlot(index: number): Slot {
  return new Slot(`id ${index}`)
}

/** The row of `alias` is the one whose key stands in the slots. */
export function compileIdentity(relation: Relation, alias: string): Sql {
  return sql.join(
    relation.primaryKey.map((column, index) =>
      compileComparison(column.type, sql.id(alias, column.name), '=', bind(column, idSlot(index))),
    ),
    sql` and `,
  )
}
