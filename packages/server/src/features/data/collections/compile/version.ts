import { arrayLiteral } from '../../../../database/array-literal.ts'
import { Slot, type Sql, sql } from '../../../../database/sql.ts'
import type { Precondition } from '../access/precondition.ts'
import { visibleColumns } from '../plan/reader.ts'
import type { RecordPlan } from '../plan/record.ts'
import type { SlotValues } from '../statement-cache.ts'

const versionsSlot = new Slot('versions')

/** Returns the slot values of {@link compileVersionMatch}. */
export function preconditionSlots(precondition: Precondition | undefined): SlotValues {
  return Array.isArray(precondition) ? { [versionsSlot.name]: arrayLiteral(precondition) } : {}
}

/**
 * Compiles the version of a row: a hash of all columns that the reader may read, whatever the request selects. Rows of
 * views, foreign tables and partitions have it, too, and it survives a restore and a failover (docs/decisions,
 * "Versions of records").
 */
export function compileVersion(
  { relation, reader }: Pick<RecordPlan, 'relation' | 'reader'>,
  alias: string,
): Sql {
  const columns = visibleColumns(relation, reader).map(({ name }) => sql.id(alias, name))
  return sql`to_hex(hashtextextended(row(${sql.join(columns)})::text, 0))`
}

/** Compiles the condition that the row of the alias has one of the versions in the slot. */
export function compileVersionMatch(record: RecordPlan, alias: string): Sql {
  return sql`${compileVersion(record, alias)} = any (${versionsSlot}::text[])`
}

/** Form of a precondition in a statement. The versions themselves are in a slot. */
export type PreconditionForm = 'none' | 'exists' | 'version'

export function formOf(precondition: Precondition | undefined): PreconditionForm {
  if (precondition === undefined) return 'none'
  return precondition === 'exists' ? 'exists' : 'version'
}
