import {
  type AggregateOf,
  type AggregateQuery,
  type Aggregates,
  type AggregateTerm,
  type AnyAggregateQuery,
  type AnyQuery,
  type AnyShape,
  type Client,
  type ColumnOf,
  type ExpandOf,
  etagOf,
  type FacetsOf,
  type KeyOf,
  type ListQuery,
  type ListRecordOf,
  type NearestTo,
  type NoExpand,
  type Page,
  type PageQuery,
  type RecordOf,
  type SemanticSearch,
  type Shape,
} from '@basaltdb/client'
import { queryOptions } from '@tanstack/react-query'
import type {
  Arguments,
  CallOf,
  Columns,
  OutputOf,
  Procedure,
  ReadAddress,
  RegisteredDatabase,
  Returns,
  Table,
} from './database.ts'
import { aggregateKey, functionKey, listKey, recordKey, rpcKey } from './query-keys.ts'

/** Related tables of a query. */
export interface RelatedTables {
  /** Tables whose changes affect the result, too, through `expand`, `filter`, `sort` or the body of a function. */
  readonly also?: readonly Table[] | undefined
}

export type ListInput<
  T extends Table,
  F,
  E,
  C = undefined,
  H = undefined,
  N = undefined,
  S = undefined,
> = ListQuery<RegisteredDatabase, T, F, E, C, H, N, S> & PageQuery & RelatedTables

/** Page of a list, with what its query adds to the page and to the records. */
export type ListResult<T extends Table, F, E, C, H, N, S> = Page<
  ListRecordOf<RegisteredDatabase, T, F, E, H, N, S>
> &
  FacetsOf<RegisteredDatabase, T, C>

/** Point or vector to which the nearest records of a table come first. */
export type Nearest<T extends Table> = NearestTo<ColumnOf<RegisteredDatabase, T>> | undefined
/** Semantic search in a table. */
export type Semantic<T extends Table> = SemanticSearch<ColumnOf<RegisteredDatabase, T>> | undefined

export type RecordInput<F, E> = Shape<F, E> & RelatedTables
export type RecordResult<T extends Table, F, E> = RecordOf<RegisteredDatabase, T, F, E>

/** Figures to compute over the records of a table. */
export type Terms<T extends Table> = readonly AggregateTerm<ColumnOf<RegisteredDatabase, T>>[]
export type AggregateInput<T extends Table, A extends Terms<T>, G extends Columns<T>> = AggregateQuery<
  RegisteredDatabase,
  T,
  A,
  G
> &
  RelatedTables
export type AggregateResult<T extends Table, A extends Terms<T>, G extends Columns<T>> = Aggregates<
  AggregateOf<RegisteredDatabase, T, A, G>
>

/** Data of a live list. */
export interface LiveResult<Item> {
  readonly items: readonly Item[]
  readonly totalItems: number
}

/** TanStack Query must not retry, because the client already retries safe requests. */
const retry = false

/** Returns the query options of a list, for `prefetchQuery`, `useQueries` and other functions that take options. */
export function listOptions<
  T extends Table,
  const F extends Columns<T> | undefined = undefined,
  const E extends ExpandOf<RegisteredDatabase, T> = NoExpand,
  const C extends Columns<T> | undefined = undefined,
  const H extends boolean | undefined = undefined,
  const N extends Nearest<T> = undefined,
  const S extends Semantic<T> = undefined,
>(
  client: Client<RegisteredDatabase>,
  table: T,
  { also = [], ...query }: ListInput<T, F, E, C, H, N, S> = {},
) {
  return queryOptions({
    queryKey: listKey('list', [table, ...also], query as AnyQuery),
    queryFn: ({ signal }): Promise<ListResult<T, F, E, C, H, N, S>> =>
      // Without `also` it is a query of the client.
      client.from(table).list(query as ListInput<T, F, E, C, H, N, S>, { signal }),
    retry,
  })
}

/** Returns the query options of one record, by its primary key. */
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
    // A copy would have no entity tag.
    structuralSharing: (before: unknown, read: unknown) => (isSameRecord(before, read) ? before : read),
    retry,
  })
}

function isSameRecord(before: unknown, read: unknown): boolean {
  const tag = typeof read === 'object' && read !== null ? etagOf(read) : undefined
  return tag !== undefined && typeof before === 'object' && before !== null && etagOf(before) === tag
}

/** Returns the query options of figures over the records of a table. */
export function aggregateOptions<
  T extends Table,
  const A extends Terms<T>,
  const G extends Columns<T> = readonly [],
>(client: Client<RegisteredDatabase>, table: T, { also = [], ...query }: AggregateInput<T, A, G>) {
  return queryOptions({
    queryKey: aggregateKey([table, ...also], query as AnyAggregateQuery),
    queryFn: ({ signal }): Promise<AggregateResult<T, A, G>> =>
      // Without `also` it is a query of the client.
      client.from(table).aggregate(query as AggregateQuery<RegisteredDatabase, T, A, G>, { signal }),
    retry,
  })
}

/** Returns the query options of a call of a database function that reads. */
export function rpcOptions<P extends Procedure>(
  client: Client<RegisteredDatabase>,
  procedure: P,
  args: Arguments<P>,
  { also = [] }: RelatedTables = {},
) {
  return queryOptions({
    queryKey: rpcKey(also, procedure, args),
    queryFn: ({ signal }): Promise<Returns<P>> => client.rpc(procedure, args, { signal, readOnly: true }),
    retry,
  })
}

/** Parameters and input of a call of a function that reads. */
export type FunctionQuery<A extends ReadAddress> = Pick<CallOf<A>, 'params' | 'input'>

/** Result of a function that reads, with null in place of none. */
export type FunctionResult<A extends ReadAddress> =
  undefined extends OutputOf<A> ? Exclude<OutputOf<A>, undefined> | null : OutputOf<A>

/** Returns the query options of a call of a function of the project that reads. */
export function functionOptions<A extends ReadAddress>(
  client: Client<RegisteredDatabase>,
  address: A,
  query: FunctionQuery<A>,
  { also = [] }: RelatedTables = {},
) {
  return queryOptions({
    queryKey: functionKey(also, address, query),
    queryFn: async ({ signal }): Promise<FunctionResult<A>> => {
      // The type of the arguments follows from the address, which the compiler does not know here.
      const call = client.functions.call as (address: A, call: object) => Promise<FunctionResult<A>>
      // TanStack Query accepts no undefined result.
      return (await call(address, { ...query, signal })) ?? (null as FunctionResult<A>)
    },
    retry,
  })
}

/**
 * Returns the query options of a live list. Prefetch them on the server that renders the page: the list shows them until its
 * stream is open.
 */
export function liveOptions<
  T extends Table,
  const F extends Columns<T> | undefined = undefined,
  const E extends ExpandOf<RegisteredDatabase, T> = NoExpand,
>(client: Client<RegisteredDatabase>, table: T, { also = [], ...query }: ListInput<T, F, E> = {}) {
  // A live list holds 100 records unless the query sets another number.
  const whole = { perPage: 100, ...query } as ListInput<T, F, E>
  return queryOptions({
    queryKey: listKey('live', [table, ...also], whole as AnyQuery),
    queryFn: async ({ signal }): Promise<LiveResult<RecordResult<T, F, E>>> => {
      const { items, totalItems } = await client.from(table).list(whole, { signal })
      return { items, totalItems }
    },
    retry,
    // The stream keeps the data up to date.
    staleTime: Number.POSITIVE_INFINITY,
  })
}
