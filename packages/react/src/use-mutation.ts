'use client'
import type { Client, ExpandOf, InsertOf, KeyOf, NoExpand, Shape, UpdateOf } from '@basaltdb/client'
import {
  type UseMutationOptions,
  type UseMutationResult,
  useQueryClient,
  useMutation as useQueryMutation,
} from '@tanstack/react-query'
import type { Columns, RegisteredDatabase, Table } from './database.ts'
import type { RecordResult } from './options.ts'
import { affectedBy } from './query-keys.ts'
import { useClient } from './use-client.ts'

/** Condition of an update or delete. */
interface Condition {
  /** Record as it was read. If it has changed since, the mutation fails with a `ConflictError`. */
  readonly ifMatch?: object | string | undefined
}

interface Deletion<T extends Table> extends Condition {
  readonly key: KeyOf<RegisteredDatabase, T>
}

/** Input of each action. */
export interface Writes<T extends Table> {
  readonly create: InsertOf<RegisteredDatabase, T>
  readonly update: Condition & {
    readonly key: KeyOf<RegisteredDatabase, T>
    readonly changes: UpdateOf<RegisteredDatabase, T>
  }
  readonly upsert: {
    readonly record: InsertOf<RegisteredDatabase, T>
    /** Columns of a unique constraint. */
    readonly on: Columns<T>
    /** `update` unless set; `ignore` leaves an existing record as it is. */
    readonly action?: 'update' | 'ignore' | undefined
  }
  /** Primary key, or the key with a condition. */
  readonly delete: KeyOf<RegisteredDatabase, T> | Deletion<T>
}

export type Action = keyof Writes<Table>

// biome-ignore lint/suspicious/noConfusingVoidType: a delete returns nothing, as in the client
type WriteResult<T extends Table, A extends Action, F, E> = A extends 'delete' ? void : RecordResult<T, F, E>

/** Options of {@link useMutation}: the columns and relations to return, and the options of TanStack Query. */
export interface WriteInput<T extends Table, A extends Action, F, E, OnMutate>
  extends Shape<F, E>,
    Omit<UseMutationOptions<WriteResult<T, A, F, E>, Error, Writes<T>[A], OnMutate>, 'mutationFn'> {
  /** Other tables that the write changes, through triggers and cascading keys. */
  readonly also?: readonly Table[] | undefined
}

/** Returns a mutation that writes to a table. After the write, all lists and records that it may have changed are refetched. */
export function useMutation<
  T extends Table,
  A extends Action,
  const F extends Columns<T> | undefined = undefined,
  const E extends ExpandOf<RegisteredDatabase, T> = NoExpand,
  OnMutate = unknown,
>(
  table: T,
  action: A,
  { also = [], fields, expand, ...options }: WriteInput<T, A, F, E, OnMutate> = {},
): UseMutationResult<WriteResult<T, A, F, E>, Error, Writes<T>[A], OnMutate> {
  const client = useClient()
  const queries = useQueryClient()
  return useQueryMutation<WriteResult<T, A, F, E>, Error, Writes<T>[A], OnMutate>({
    ...options,
    // The result type follows from the action, which the compiler cannot infer from the value.
    mutationFn: (input) =>
      write(client, table, action, input, { fields, expand }) as Promise<WriteResult<T, A, F, E>>,
    async onSettled(...settled) {
      // A failed write is refetched, too: the server may have applied a write whose response was lost.
      await queries.invalidateQueries(affectedBy(table, ...also))
      await options.onSettled?.(...settled)
    },
  })
}

function write<T extends Table, F, E>(
  client: Client<RegisteredDatabase>,
  table: T,
  action: Action,
  input: Writes<T>[Action],
  shape: Shape<F, E>,
): Promise<unknown> {
  const collection = client.from(table)
  // The action determines the type of the input.
  switch (action) {
    case 'create':
      return collection.create(input as Writes<T>['create'], shape as object)
    case 'update': {
      const { key, changes, ifMatch } = input as Writes<T>['update']
      return collection.update(key, changes, shape as object, { ifMatch })
    }
    case 'upsert': {
      const { record, ...conflict } = input as Writes<T>['upsert']
      return collection.upsert(record, { ...conflict, ...(shape as object) })
    }
    case 'delete': {
      const { key, ifMatch } = deletionOf(input as Writes<T>['delete'])
      return collection.delete(key, { ifMatch })
    }
  }
}

/** Returns the input of a delete as an object. A composite key is an array. */
function deletionOf<T extends Table>(input: Writes<T>['delete']): Deletion<T> {
  const isObject = typeof input === 'object' && input !== null && !Array.isArray(input)
  return isObject ? (input as Deletion<T>) : { key: input as KeyOf<RegisteredDatabase, T> }
}
