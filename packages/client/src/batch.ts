import type { AnyDatabase, ColumnOf, InsertOf, KeyOf, RowOf, TableName, UpdateOf } from './database-types.ts'
import { type ConditionalOptions, formatCondition, tagRecord } from './entity-tag.ts'
import { checkList } from './options.ts'
import { readList } from './response.ts'
import type { Transport, WriteOptions } from './transport.ts'

declare const resultType: unique symbol

/** Single operation of a batch. `Result` is the type of its result. */
export interface Operation<Result> {
  readonly table: string
  readonly method: 'create' | 'update' | 'delete'
  readonly id?: string
  readonly body?: unknown
  readonly ifMatch?: string
  readonly onConflict?: readonly string[]
  readonly onConflictAction?: 'update' | 'ignore'
  readonly [resultType]?: Result
}

/** Condition of an operation. If the record has changed, the batch rejects with `precondition_failed`, and nothing is written. */
export type OperationCondition = Pick<ConditionalOptions, 'ifMatch'>

/** Builders of operations on any table, all of which run in one transaction. */
export interface Operations<DB extends AnyDatabase> {
  /** Creates a record. Its result is the created record. */
  create<T extends TableName<DB>>(table: T, record: InsertOf<DB, T>): Operation<RowOf<DB, T>>
  /**
   * Creates a record, or updates the existing record that has the same values in the `on` columns.
   * @param conflict `on` lists the columns of a unique constraint. `action` is `update` unless set; `ignore` leaves the
   * existing record as it is.
   */
  upsert<T extends TableName<DB>>(
    table: T,
    record: InsertOf<DB, T>,
    conflict: {
      readonly on: readonly ColumnOf<DB, T>[]
      readonly action?: 'update' | 'ignore' | undefined
    } & OperationCondition,
  ): Operation<RowOf<DB, T>>
  /** Updates the record with this primary key. Its result is the updated record. */
  update<T extends TableName<DB>>(
    table: T,
    key: KeyOf<DB, T>,
    changes: UpdateOf<DB, T>,
    condition?: OperationCondition,
  ): Operation<RowOf<DB, T>>
  /** Deletes the record with this primary key. */
  delete<T extends TableName<DB>>(
    table: T,
    key: KeyOf<DB, T>,
    condition?: OperationCondition,
  ): Operation<undefined>
}

/** Results of a batch, one for each operation and in the same order. */
export type ResultsOf<Batch extends readonly Operation<unknown>[]> = {
  -readonly [Index in keyof Batch]: Batch[Index] extends Operation<infer Result> ? Result : never
}

/** @internal */
export const operations: Operations<AnyDatabase> = {
  create: (table: string, body: unknown) => ({ table, method: 'create', body }),
  upsert: (
    table: string,
    body: unknown,
    {
      on,
      action = 'update',
      ...condition
    }: {
      readonly on: readonly string[]
      readonly action?: 'update' | 'ignore' | undefined
    } & OperationCondition,
  ) => {
    checkList('on', on)
    return {
      ...{ table, method: 'create', body, onConflict: on, onConflictAction: action },
      ...conditionOf(condition),
    }
  },
  update: (table: string, key: unknown, body: unknown, condition?: OperationCondition) => ({
    ...{ table, method: 'update', id: formatId(key), body },
    ...conditionOf(condition),
  }),
  delete: (table: string, key: unknown, condition?: OperationCondition) => ({
    ...{ table, method: 'delete', id: formatId(key) },
    ...conditionOf(condition),
  }),
}

function conditionOf({ ifMatch }: OperationCondition = {}) {
  return ifMatch === undefined ? {} : { ifMatch: formatCondition(ifMatch) }
}

/** @internal Sends a batch and returns the result of each operation, in their order. */
export async function sendBatch(
  transport: Transport,
  batch: readonly Operation<unknown>[],
  options: WriteOptions,
): Promise<unknown[]> {
  const body = { operations: batch, etags: true }
  const results = await transport.write('POST', 'batch', { ...options, body })
  return readList<{ body?: unknown; etag?: string }>(results).map((result) =>
    tagRecord(result.body, result.etag),
  )
}

/**
 * Formats a primary key for the body of a batch. The values of a composite key are encoded as in a URL, so that a comma inside
 * a value does not separate two values.
 */
function formatId(key: unknown): string {
  const values = keyValues(key)
  return values.length === 1 ? values.join() : values.map(encodeURIComponent).join()
}

/** @internal Returns the values of a primary key as strings. @throws TypeError if `key` is not a key */
export function keyValues(key: unknown): string[] {
  const values: unknown[] = Array.isArray(key) ? key : [key]
  if (values.length === 0 || values.some((value) => value === undefined || typeof value === 'object')) {
    throw new TypeError('a key is a text or a number, or a list of them')
  }
  return values.map(String)
}
