import type { Relation } from '../../../../database/catalog/model.ts'
import type { ChangeAction } from '../../../../database/change-log.ts'
import type { Answer } from '../../../../database/connection/message.ts'
import { requireJson } from '../../../../http/requests/body.ts'
import { AppError } from '../../../../lib/errors.ts'
import { sliceObject } from '../../../../lib/json-slices.ts'
import type { Caller } from '../access/caller.ts'
import type { Collections } from '../collections.ts'
import { compileGet, compileLocked, writeSlots } from '../compile/write.ts'
import { collectionErrors } from '../errors.ts'
import { type RecordBody, readRecord } from '../parse/record-body.ts'
import { privilegesOf, type Reader } from '../plan/reader.ts'
import { planWholeRecord } from '../plan/record.ts'
import { readerOf } from '../read/reading.ts'
import { openInTransaction } from './in-transaction.ts'
import {
  type ChangeOutcome,
  type HookTransaction,
  noHooks,
  type RecordChange,
  type TableHooks,
} from './write-hooks.ts'

/** Write in a transaction that it shares with hooks. */
export interface HookedWrite {
  readonly transaction: HookTransaction
  /** Collections in the transaction. Their writes pass no hooks. */
  readonly collections: Collections
  /** Caller without the idempotency key, which the transaction keeps. */
  readonly caller: Caller
}

export interface HookedWriteOptions {
  /** True if the write is a single message, which then needs no transaction unless a hook uses the database. */
  readonly isSingle: boolean
}

/**
 * Runs a write that passes hooks, in one transaction. With an idempotency key, the key is reserved before the hooks run, so
 * that a repeated request does not call them again.
 *
 * @param work returns a result that survives JSON
 */
export async function writeWithHooks<Result>(
  collections: Collections,
  caller: Caller,
  { isSingle }: HookedWriteOptions,
  work: (write: HookedWrite) => Promise<Result>,
): Promise<Result> {
  const set = collections.hooks.current()
  if (set === undefined) throw new Error('a write without hooks has none to pass')
  const { writesOnce } = collections
  const unkeyed = { ...caller, key: undefined }
  return await writesOnce.storingFailure(caller, () =>
    writesOnce.runLong<Result>(caller.key, async ({ reserve, store }) => {
      return await set.transaction(unkeyed, async (transaction) => {
        await reserve((steps) => transaction.run(steps))
        const opened = openInTransaction(
          collections,
          isSingle ? transaction.runWhole : (_scope, steps) => transaction.run(steps),
          noHooks,
        )
        transaction.onCommit(opened.announce)
        const result = await work({ transaction, collections: opened.collections, caller: unkeyed })
        await store((steps) => transaction.run(steps), result)
        return result
      })
    }),
  )
}

/** Change of a statement, before its hooks. */
export interface PendingChange {
  readonly operation: RecordChange['operation']
  /** Primary key of the changed record. */
  readonly id?: readonly string[]
  /** Values to write; undefined for a delete. */
  readonly body?: RecordBody
  /** Record before the change, if it was read already. */
  readonly previous?: string
}

/**
 * Calls the hooks with the changes of one statement, and returns the bodies that they leave.
 *
 * @param blame makes the error of the change at a position
 * @throws AppError of the first hook that refuses; record_not_found; invalid_hook_values
 */
export async function passHooks(
  write: HookedWrite,
  hooks: TableHooks,
  relation: Relation,
  pending: readonly PendingChange[],
  blame: (error: AppError, position: number) => AppError = (error) => error,
): Promise<readonly (RecordBody | undefined)[]> {
  const { transaction } = write
  const canonical = pending.map((change) => ({
    ...change,
    ...(change.body === undefined ? {} : { body: canonicalBody(change.body) }),
  }))
  const previous = hooks.requiresPrevious ? await readPrevious(write, relation, canonical, blame) : []
  const changes = canonical.map(({ operation, id, body }, position): RecordChange => {
    const before = previous[position]
    return {
      operation,
      ...(id === undefined ? {} : { id: id.join() }),
      ...(body === undefined ? {} : { values: body.json }),
      ...(before === undefined ? {} : { previous: before }),
    }
  })
  const outcomes = await transaction.call(relation, changes, false)
  return canonical.map(({ operation, body }, position) => {
    const outcome = outcomes[position]
    if (outcome?.refusal !== undefined) throw blame(outcome.refusal, position)
    return body && readOutcome(relation, body, outcome, operation === 'update' ? 'update' : 'create')
  })
}

/** Returns the body that the hooks leave. @throws AppError invalid_hook_values */
export function readOutcome(
  relation: Relation,
  body: RecordBody,
  outcome: ChangeOutcome | undefined,
  action: 'create' | 'update',
): RecordBody {
  if (outcome?.values === undefined) return body
  try {
    return readRecord(relation, outcome.values, requireJson(outcome.values), action)
  } catch (error) {
    // The client is not to blame for the values of the operator's code.
    throw error instanceof AppError ? collectionErrors.invalidHookValues(error.message) : error
  }
}

/** Returns the body with one member for each column that it writes, so that hooks see what PostgreSQL reads. */
export function canonicalBody({ json, columns }: RecordBody): RecordBody {
  const texts = sliceObject(json)
  const members = columns.map(({ name }) => `${JSON.stringify(name)}:${texts.get(name) ?? 'null'}`)
  return { json: `{${members.join()}}`, columns }
}

/**
 * Reads the records before their changes under the caller's policies, and locks them. A record that the caller may delete but
 * not update cannot be locked (PostgreSQL, The Locking Clause).
 *
 * @throws AppError record_not_found
 */
async function readPrevious(
  { collections, caller, transaction }: HookedWrite,
  relation: Relation,
  changes: readonly PendingChange[],
  blame: (error: AppError, position: number) => AppError,
): Promise<readonly (string | undefined)[]> {
  const reader = readerOf(caller)
  const found: (string | undefined)[] = changes.map(({ previous }) => previous)
  const missing = changes.flatMap(({ operation, id }, position) =>
    found[position] === undefined && id !== undefined ? [{ operation, id, position }] : [],
  )
  const read = async (wanted: typeof missing, isLocked: boolean) => {
    if (wanted.length === 0) return
    const record = planWholeRecord(relation, reader)
    const statement = isLocked ? compileLocked(record) : compileGet(record)
    const calls = wanted.map(({ id }) => collections.statements.fill(statement, writeSlots('', id)))
    const answers: readonly Answer[] = await transaction.run(calls)
    for (const [index, { position }] of wanted.entries()) {
      found[position] = answers[index]?.rows[0]?.[0] ?? undefined
    }
  }
  if (mayLock(relation, reader)) await read(missing, true)
  const deletes = missing.filter(
    ({ operation, position }) => operation === 'delete' && found[position] === undefined,
  )
  await read(deletes, false)
  const lost = missing.find(({ position }) => found[position] === undefined)
  if (lost !== undefined) throw blame(collectionErrors.recordNotFound(lost.id.join()), lost.position)
  return found
}

/** Returns whether the reader may lock rows of the table. */
export function mayLock(relation: Relation, reader: Reader): boolean {
  return privilegesOf(relation, reader).update
}

/** Returns the hooks of a table, if a write passes any. @throws AppError functions_unavailable */
export function findHooks(
  { hooks }: Pick<Collections, 'hooks'>,
  relation: Relation,
  ...actions: readonly ChangeAction[]
): TableHooks | undefined {
  return hooks.current()?.find(relation, actions)
}
