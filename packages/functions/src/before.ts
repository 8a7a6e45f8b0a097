import {
  type AnyDatabase,
  type InsertOf,
  parseExact,
  type RowOf,
  stringifyExact,
  type TableName,
  type UpdateOf,
} from '@basaltdb/client'
import type { HookContext } from './context.ts'
import { createDatabase, type RegisteredDatabase } from './database.ts'
import { definitionKey, type FunctionDefinition, type WriteOperation } from './definition.ts'

/** New record, with the values that the client has sent. Defaults of the database are not among them. */
export interface CreateChange<DB extends AnyDatabase, T extends TableName<DB>> {
  readonly operation: 'create'
  values: InsertOf<DB, T>
}

/** Record that is created, or that updates the one with its key. */
export interface UpsertChange<DB extends AnyDatabase, T extends TableName<DB>> {
  readonly operation: 'upsert'
  values: InsertOf<DB, T>
}

/** Changed values of a record. */
export interface UpdateChange<DB extends AnyDatabase, T extends TableName<DB>, Previous> {
  readonly operation: 'update'
  /** Primary key as in the address of the record. */
  readonly id: string
  values: UpdateOf<DB, T>
  /** Record before the change, locked until the end of the transaction; undefined without the option `previous`. */
  readonly previous: Previous extends true ? RowOf<DB, T> : undefined
}

/** Record that is deleted. */
export interface DeleteChange<DB extends AnyDatabase, T extends TableName<DB>, Previous> {
  readonly operation: 'delete'
  /** Primary key as in the address of the record. */
  readonly id: string
  /** Record that is deleted; undefined without the option `previous`. */
  readonly previous: Previous extends true ? RowOf<DB, T> : undefined
}

/** Change of a record. An upsert passes the hooks of `create` and of `update`. */
export type Change<
  T extends TableName<DB>,
  O extends WriteOperation = WriteOperation,
  Previous = false,
  DB extends AnyDatabase = RegisteredDatabase,
> =
  | (O extends 'create' ? CreateChange<DB, T> | UpsertChange<DB, T> : never)
  | (O extends 'update' ? UpdateChange<DB, T, Previous> | UpsertChange<DB, T> : never)
  | (O extends 'delete' ? DeleteChange<DB, T, Previous> : never)

export interface BeforeOptions<Previous extends boolean | undefined = boolean | undefined> {
  /** True if the hook of an update or delete gets the record before the change. It is then read and locked. */
  readonly previous?: Previous
  /** Time limit in seconds, at most `functions.timeout`, which is the default. */
  readonly timeout?: number | undefined
}

/** Handler of any hook. The server passes changes of its table. */
type Handler = (context: HookContext, change: never) => unknown

const operationNames: readonly string[] = ['create', 'update', 'delete']

/**
 * Defines a hook that runs before writes of the API, in their transaction. It may change `change.values`, and refuse the write
 * by an error with a `status` from 400 to 499.
 *
 * @param table name of the collection, outside the schema `public` as `schema.table`
 * @throws TypeError if an argument is invalid
 */
export function before<T extends TableName<RegisteredDatabase>, const O extends WriteOperation>(
  table: T,
  operations: O | readonly O[],
  handler: (context: HookContext, change: Change<T, O>) => void | Promise<void>,
): FunctionDefinition
export function before<
  T extends TableName<RegisteredDatabase>,
  const O extends WriteOperation,
  const Previous extends boolean | undefined = undefined,
>(
  table: T,
  operations: O | readonly O[],
  options: BeforeOptions<Previous>,
  handler: (context: HookContext, change: Change<T, O, Previous>) => void | Promise<void>,
): FunctionDefinition
export function before(
  table: string,
  operations: WriteOperation | readonly WriteOperation[],
  // One list of both forms would keep the types of the handler's parameters from being inferred with options.
  ...rest: readonly [handler: Handler] | readonly [options: BeforeOptions, handler: Handler]
): FunctionDefinition {
  const [options, handler] = rest.length === 1 ? [{}, rest[0]] : rest
  const subject = readTable(table, operations)
  if (typeof handler !== 'function') throw new TypeError('expected a function')
  const { previous = false, timeout }: BeforeOptions = options
  return {
    [definitionKey]: {
      version: 1,
      kind: 'before',
      ...subject,
      previous,
      timeout,
      handler,
      parse: parseExact,
      stringify: (value) => stringifyExact(value) ?? 'null',
      openDatabase: createDatabase,
    },
  }
}

/** Returns the table and the operations of a function. @throws TypeError if one is invalid */
export function readTable(table: string, operations: WriteOperation | readonly WriteOperation[]) {
  const list: readonly WriteOperation[] = typeof operations === 'string' ? [operations] : operations
  if (typeof table !== 'string' || table === '') throw new TypeError('expected the name of a table')
  if (!Array.isArray(list) || list.length === 0 || !list.every((each) => operationNames.includes(each)))
    throw new TypeError(`${JSON.stringify(operations)}: expected create, update or delete, or a list of them`)
  return { table, operations: [...new Set(list)] }
}
