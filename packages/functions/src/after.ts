import { type AnyDatabase, parseExact, type RowOf, type TableName } from '@basaltdb/client'
import { readTable } from './before.ts'
import type { AfterContext } from './context.ts'
import { createDatabase, type RegisteredDatabase } from './database.ts'
import { definitionKey, type FunctionDefinition, type WriteOperation } from './definition.ts'
import { type AttemptOptions, requireAttempts } from './job.ts'

/** Committed change of a record. */
export type LoggedChange<
  T extends TableName<DB>,
  O extends WriteOperation = WriteOperation,
  DB extends AnyDatabase = RegisteredDatabase,
> =
  | (O extends 'create' ? { readonly operation: 'create'; readonly record: RowOf<DB, T> } : never)
  | (O extends 'update'
      ? {
          readonly operation: 'update'
          readonly record: RowOf<DB, T>
          /** Record before the change. */
          readonly previous: RowOf<DB, T>
        }
      : never)
  /** The record is that before its deletion. */
  | (O extends 'delete' ? { readonly operation: 'delete'; readonly record: RowOf<DB, T> } : never)

/**
 * Defines work after committed changes of a table, by the API or by SQL. It runs at least once for each, in the order of the changes
 * of a record.
 *
 * @param table name of the collection, outside the schema `public` as `schema.table`
 * @throws TypeError if an argument is invalid
 */
export function after<T extends TableName<RegisteredDatabase>, const O extends WriteOperation>(
  table: T,
  operations: O | readonly O[],
  ...rest:
    | [handler: (context: AfterContext, change: LoggedChange<T, O>) => unknown | Promise<unknown>]
    | [
        options: AttemptOptions,
        handler: (context: AfterContext, change: LoggedChange<T, O>) => unknown | Promise<unknown>,
      ]
): FunctionDefinition {
  const [options, handler] = rest.length === 1 ? [{}, rest[0]] : rest
  const subject = readTable(table, operations)
  if (typeof handler !== 'function') throw new TypeError('expected a function')
  requireAttempts(options)
  const { retries, timeout }: AttemptOptions = options
  return {
    [definitionKey]: {
      version: 1,
      kind: 'after',
      ...subject,
      retries,
      timeout,
      // The server passes changes of this table.
      handler: handler as (context: AfterContext, change: never) => unknown,
      parse: parseExact,
      openDatabase: createDatabase,
    },
  }
}
