import type { Relation } from '../../../../database/catalog/model.ts'
import { type Call, StatementFailed } from '../../../../database/connection/message.ts'
import { databaseErrors } from '../../../../database/errors/errors.ts'
import type { AppError } from '../../../../lib/errors.ts'
import type { Caller } from '../access/caller.ts'
import { meetsPrecondition, type Precondition, preconditionFailed } from '../access/precondition.ts'
import { tagOf } from '../access/representation.ts'
import type { Collections } from '../collections.ts'
import { isRowMissing } from '../compile/required-row.ts'
import { compileGet, writeSlots } from '../compile/write.ts'
import { planWholeRecord, type RecordPlan, relationsOf } from '../plan/record.ts'
import { readerOf, runRead } from '../read/reading.ts'

/** Record that a write is about, and the condition on it. */
export interface CheckedWrite {
  readonly relation: Relation
  readonly precondition?: Precondition | undefined
  /** Returns the form of the record in responses, and the statement that reads it with its version. */
  readonly find: () => { readonly record: RecordPlan; readonly call: Call }
}

/** Returns the checked write of the record with a primary key. */
export function checkedWriteOf(
  { statements }: Collections,
  caller: Caller,
  {
    relation,
    precondition,
    id,
    answer,
  }: Omit<CheckedWrite, 'find'> & {
    readonly id: readonly string[]
    readonly answer?: RecordPlan | undefined
  },
): CheckedWrite {
  return {
    relation,
    precondition,
    find() {
      const record = answer ?? planWholeRecord(relation, readerOf(caller))
      return { record, call: statements.fill(compileGet(record), writeSlots('', id)) }
    },
  }
}

/**
 * Runs a write whose statement compares the version of the record. If it affected no row, the record as it is now decides
 * the error. If the record has the required version again, the write is tried once more.
 *
 * @param missing returns the error of a write that affected no row
 * @throws AppError precondition_failed, with the current tag
 */
export async function runChecked<Result>(
  collections: Collections,
  caller: Caller,
  checked: CheckedWrite,
  write: () => Promise<Result>,
  missing: (failure: StatementFailed, exists: boolean) => AppError,
): Promise<Result> {
  requireVersions(checked.precondition, checked.relation)
  return await collections.writesOnce.storingFailure(caller, async () => {
    try {
      return await write()
    } catch (error) {
      if (!isMissing(error)) throw error
      if (!(await isMetNow(collections, caller, checked))) throw missing(error, false)
    }
    try {
      return await write()
    } catch (error) {
      if (!isMissing(error)) throw error
      throw missing(error, await isMetNow(collections, caller, checked))
    }
  })
}

/** @throws AppError unsupported_on_distributed_table if there is a precondition and records have no versions */
export function requireVersions(precondition: Precondition | undefined, relation: Relation): void {
  if (precondition === undefined || hasVersions(relation)) return
  throw databaseErrors.unsupportedOnDistributedTable('its records have no version for If-Match')
}

/** Returns whether records of the relation have versions. Citus accepts none in the condition of a write. */
export function hasVersions({ isInShards }: Relation): boolean {
  return !isInShards
}

function isMissing(error: unknown): error is StatementFailed {
  return error instanceof StatementFailed && isRowMissing(error)
}

/**
 * Returns whether the record exists and meets the precondition. Returns false without a precondition.
 *
 * @throws AppError precondition_failed if it exists in another version
 */
export async function isMetNow(
  collections: Collections,
  caller: Caller,
  { precondition, find }: CheckedWrite,
): Promise<boolean> {
  if (precondition === undefined) return false
  const { record, call } = find()
  // A replica may not have the version that failed.
  const { consistency: _, ...primary } = caller
  const [answer] = await runRead(collections, primary, { relations: relationsOf(record) }, [call])
  const [json, version] = answer?.rows[0] ?? []
  if (json == null) return false
  if (meetsPrecondition(precondition, version ?? undefined)) return true
  throw preconditionFailed(tagOf({ record: json, version: version ?? undefined }))
}
