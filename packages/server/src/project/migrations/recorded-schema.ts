import type { Queryable } from '../../database/system-database.ts'
import {
  applyChanges,
  compareSchemas,
  readSchema,
  type SchemaChange,
  type SchemaObject,
} from '../schema/objects.ts'
import { findRecordedSchema, recordSchema } from './ledger.ts'

/** Records the changes of a migration, and no earlier manual change. */
export async function recordChanges(transaction: Queryable, before: readonly SchemaObject[]): Promise<void> {
  const after = await readSchema(transaction)
  const recorded = await findRecordedSchema(transaction)
  await recordSchema(
    transaction,
    recorded === undefined ? after : applyChanges(recorded, compareSchemas(before, after)),
  )
}

/** Returns the changes since the last migration that no migration made; undefined before the first one. */
export async function findDrift(transaction: Queryable): Promise<SchemaChange[] | undefined> {
  const recorded = await findRecordedSchema(transaction)
  return recorded === undefined ? undefined : compareSchemas(recorded, await readSchema(transaction))
}
