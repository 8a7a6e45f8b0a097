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

/** What each action takes. */
export interface Writes<T extends Table> {
  readonly create: InsertOf<RegisteredDatabase, T>
  readonly update: {
    readonly key: KeyOf<RegisteredDatabase, T>
    readonly changes: UpdateOf<RegisteredDatabase, T>
  }
  readonly upsert: {
    readonly record: InsertOf<RegisteredDatabase, T>
    /** The columns of a unique constraint. */
    readonly on: Columns<T>
    readonly action?: 'update' | 'ignore' | undefined
  }
  readonly delete: KeyOf<RegisteredDatabase, T>
}

export type Action = keyof Writes<Table>

// biome-ignore lint/suspicious/noConfusingVoidType: a delete answers nothing, as in the client
type Written<T extends Table, A extends Action, F, E> = A extends 'delete' ? void : RecordResult<T, F, E>

export interface WriteInput<T extends Table, A extends Action, F, E, OnMutate>
  extends Shape<F, E>,
    Omit<UseMutationOptions<Written<T, A, F, E>, Error, Writes<T>[A], OnMutate>, 'mutationFn'> {
  /** Tables that the write changes, too: those of triggers and of keys that cascade. */
  readonly also?: readonly Table[] | undefined
}

/** A write, after which every list and record that it may have changed is read again. */
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
): UseMutationResult<Written<T, A, F, E>, Error, Writes<T>[A], OnMutate> {
  const client = useClient()
  const queries = useQueryClient()
  return useQueryMutation<Written<T, A, F, E>, Error, Writes<T>[A], OnMutate>({
    ...options,
    // Each action answers what its name says; the compiler does not follow a value into a type.
    mutationFn: (input) =>
      write(client, table, action, input, { fields, expand }) as Promise<Written<T, A, F, E>>,
    async onSettled(...settled) {
      // After a failure, too: an answer that was lost may be of a write that was made.
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
  // The action says which of the inputs it is.
  switch (action) {
    case 'create':
      return collection.create(input as Writes<T>['create'], shape as object)
    case 'update': {
      const { key, changes } = input as Writes<T>['update']
      return collection.update(key, changes, shape as object)
    }
    case 'upsert': {
      const { record, ...conflict } = input as Writes<T>['upsert']
      return collection.upsert(record, { ...conflict, ...(shape as object) })
    }
    case 'delete':
      return collection.delete(input as Writes<T>['delete'])
  }
}
