import { readList } from './answer.ts'
import type { AnyDatabase, ColumnOf, InsertOf, KeyOf, RowOf, TableName, UpdateOf } from './database-types.ts'
import { checkList } from './options.ts'
import type { Transport, WriteOptions } from './transport.ts'

declare const resultType: unique symbol

/** One operation of a batch; `Result` is what it answers. */
export interface Operation<Result> {
  readonly table: string
  readonly method: 'create' | 'update' | 'delete'
  readonly id?: string
  readonly body?: unknown
  readonly onConflict?: readonly string[]
  readonly onConflictAction?: 'update' | 'ignore'
  readonly [resultType]?: Result
}

/** Makes operations on any table, for one transaction. */
export interface Operations<DB extends AnyDatabase> {
  create<T extends TableName<DB>>(table: T, record: InsertOf<DB, T>): Operation<RowOf<DB, T>>
  /** Creates a record, or updates the one that has its key in these columns. */
  upsert<T extends TableName<DB>>(
    table: T,
    record: InsertOf<DB, T>,
    conflict: { readonly on: readonly ColumnOf<DB, T>[]; readonly action?: 'update' | 'ignore' | undefined },
  ): Operation<RowOf<DB, T>>
  update<T extends TableName<DB>>(
    table: T,
    key: KeyOf<DB, T>,
    changes: UpdateOf<DB, T>,
  ): Operation<RowOf<DB, T>>
  delete<T extends TableName<DB>>(table: T, key: KeyOf<DB, T>): Operation<undefined>
}

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
    }: { readonly on: readonly string[]; readonly action?: 'update' | 'ignore' | undefined },
  ) => {
    checkList('on', on)
    return { table, method: 'create', body, onConflict: on, onConflictAction: action }
  },
  update: (table: string, key: unknown, body: unknown) => ({
    table,
    method: 'update',
    id: formatId(key),
    body,
  }),
  delete: (table: string, key: unknown) => ({ table, method: 'delete', id: formatId(key) }),
}

/** @internal What each operation has answered, in their order. */
export async function sendBatch(
  transport: Transport,
  batch: readonly Operation<unknown>[],
  options: WriteOptions,
): Promise<unknown[]> {
  const body = { operations: batch }
  const results = await transport.write('POST', 'batch', { ...options, body })
  return readList<{ body?: unknown }>(results).map((result) => result.body)
}

/** A single value as it is; those of a composite key as in an address, where a comma inside a value is encoded. */
function formatId(key: unknown): string {
  const values = keyValues(key)
  return values.length === 1 ? values.join() : values.map(encodeURIComponent).join()
}

/** @internal The values of a primary key as texts. @throws TypeError for what is no key */
export function keyValues(key: unknown): string[] {
  const values: unknown[] = Array.isArray(key) ? key : [key]
  if (values.length === 0 || values.some((value) => value === undefined || typeof value === 'object')) {
    throw new TypeError('a key is a text or a number, or a list of them')
  }
  return values.map(String)
}
