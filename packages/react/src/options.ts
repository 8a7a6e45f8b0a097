import type {
  AnyQuery,
  AnyShape,
  Client,
  ExpandOf,
  KeyOf,
  ListQuery,
  NoExpand,
  Page,
  PageQuery,
  RecordOf,
  Shape,
} from '@basaltdb/client'
import { queryOptions } from '@tanstack/react-query'
import type { Columns, RegisteredDatabase, Table } from './database.ts'
import { listKey, recordKey } from './query-keys.ts'

export interface AlsoRead {
  /** Tables whose changes matter, too: those of `expand` and of relations in the filter. */
  readonly also?: readonly Table[] | undefined
}

export type ListInput<T extends Table, F, E> = ListQuery<RegisteredDatabase, T, F, E> & PageQuery & AlsoRead
export type RecordInput<F, E> = Shape<F, E> & AlsoRead
export type RecordResult<T extends Table, F, E> = RecordOf<RegisteredDatabase, T, F, E>

/** What a live list knows. */
export interface LiveResult<Item> {
  readonly items: readonly Item[]
  readonly totalItems: number
}

/** The client has sent a request again already where that is safe. */
const retry = false

/** A list for `prefetchQuery`, `useQueries` and whatever else takes options. */
export function listOptions<
  T extends Table,
  const F extends Columns<T> | undefined = undefined,
  const E extends ExpandOf<RegisteredDatabase, T> = NoExpand,
>(client: Client<RegisteredDatabase>, table: T, { also = [], ...query }: ListInput<T, F, E> = {}) {
  return queryOptions({
    queryKey: listKey('list', [table, ...also], query as AnyQuery),
    queryFn: ({ signal }): Promise<Page<RecordResult<T, F, E>>> =>
      // Without `also` it is the query of the client.
      client.from(table).list(query as ListInput<T, F, E>, { signal }),
    retry,
  })
}

/** One record, by its primary key. */
export function recordOptions<
  T extends Table,
  const F extends Columns<T> | undefined = undefined,
  const E extends ExpandOf<RegisteredDatabase, T> = NoExpand,
>(
  client: Client<RegisteredDatabase>,
  table: T,
  key: KeyOf<RegisteredDatabase, T>,
  { also = [], ...shape }: RecordInput<F, E> = {},
) {
  return queryOptions({
    queryKey: recordKey([table, ...also], key, shape as AnyShape),
    queryFn: ({ signal }): Promise<RecordResult<T, F, E>> => client.from(table).one(key, shape, { signal }),
    retry,
  })
}

/** What a live list shows until its stream is in force: prefetch it on the server that renders the page. */
export function liveOptions<
  T extends Table,
  const F extends Columns<T> | undefined = undefined,
  const E extends ExpandOf<RegisteredDatabase, T> = NoExpand,
>(client: Client<RegisteredDatabase>, table: T, { also = [], ...query }: ListInput<T, F, E> = {}) {
  // As many as a live list holds unless it is given.
  const whole = { perPage: 100, ...query } as ListInput<T, F, E>
  return queryOptions({
    queryKey: listKey('live', [table, ...also], whole as AnyQuery),
    queryFn: async ({ signal }): Promise<LiveResult<RecordResult<T, F, E>>> => {
      const { items, totalItems } = await client.from(table).list(whole, { signal })
      return { items, totalItems }
    },
    retry,
    // From then on the stream keeps it up to date.
    staleTime: Number.POSITIVE_INFINITY,
  })
}
