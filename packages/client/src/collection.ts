import {
  type AggregateOf,
  type AggregateQuery,
  type Aggregates,
  type AggregateTerm,
  type AnyAggregateQuery,
  formatAggregateQuery,
} from './aggregate.ts'
import { keyValues, sendBatch } from './batch.ts'
import type {
  AnyDatabase,
  ColumnOf,
  ExpandOf,
  InsertOf,
  KeyOf,
  NoExpand,
  RecordOf,
  RowOf,
  TableName,
  UpdateOf,
} from './database-types.ts'
import { type ConditionalOptions, readTagged, withCondition } from './entity-tag.ts'
import { ConflictError, isBasaltError } from './errors.ts'
import { type Filter, quoteName } from './filter.ts'
import {
  type AnyQuery,
  type AnyShape,
  type CursorPage,
  type CursorQuery,
  type FacetsOf,
  formatFilter,
  formatListQuery,
  formatShape,
  type ListQuery,
  type ListRecordOf,
  type NearestTo,
  type Page,
  type PageQuery,
  type Parameters,
  type RowsQuery,
  type SemanticSearch,
  type Shape,
} from './list-query.ts'
import { checkList } from './options.ts'
import { invalidResponse, readList } from './response.ts'
import {
  formatQuery,
  pathSegment,
  type RequestOptions,
  type Transport,
  type WriteOptions,
} from './transport.ts'

type Columns<DB extends AnyDatabase, T extends TableName<DB>> = readonly ColumnOf<DB, T>[]

/** Length of the parameters above which a read has a body. Servers and proxies limit URLs, some of them to 8 KiB. */
const maxQueryLength = 4096

/** Records of one table or view. */
export interface Collection<DB extends AnyDatabase, T extends TableName<DB>> {
  /** Name of the table or view. */
  readonly name: T
  /** Returns one page of the records, by cursor. */
  list<
    const F extends Columns<DB, T> | undefined = undefined,
    const E extends ExpandOf<DB, T> = NoExpand,
    const C extends Columns<DB, T> | undefined = undefined,
    const H extends boolean | undefined = undefined,
    const N extends NearestTo<ColumnOf<DB, T>> | undefined = undefined,
    const S extends SemanticSearch<ColumnOf<DB, T>> | undefined = undefined,
  >(
    query: ListQuery<DB, T, F, E, C, H, N, S> & CursorQuery,
    options?: RequestOptions,
  ): Promise<CursorPage<ListRecordOf<DB, T, F, E, H, N, S>> & FacetsOf<DB, T, C>>
  /** Returns one page of the records, by page number. */
  list<
    const F extends Columns<DB, T> | undefined = undefined,
    const E extends ExpandOf<DB, T> = NoExpand,
    const C extends Columns<DB, T> | undefined = undefined,
    const H extends boolean | undefined = undefined,
    const N extends NearestTo<ColumnOf<DB, T>> | undefined = undefined,
    const S extends SemanticSearch<ColumnOf<DB, T>> | undefined = undefined,
  >(
    query?: ListQuery<DB, T, F, E, C, H, N, S> & PageQuery,
    options?: RequestOptions,
  ): Promise<Page<ListRecordOf<DB, T, F, E, H, N, S>> & FacetsOf<DB, T, C>>
  /** Returns the first record of the list, or undefined if no record matches. */
  first<
    const F extends Columns<DB, T> | undefined = undefined,
    const E extends ExpandOf<DB, T> = NoExpand,
    const H extends boolean | undefined = undefined,
    const N extends NearestTo<ColumnOf<DB, T>> | undefined = undefined,
    const S extends SemanticSearch<ColumnOf<DB, T>> | undefined = undefined,
  >(
    query?: Omit<ListQuery<DB, T, F, E, undefined, H, N, S>, 'perPage'>,
    options?: RequestOptions,
  ): Promise<ListRecordOf<DB, T, F, E, H, N, S> | undefined>
  /** Returns the number of records that match. */
  count(query?: RowsQuery<DB, T>, options?: RequestOptions): Promise<number>
  /**
   * Returns figures over the records that match: `(await collection.aggregate({ aggregate: ['count', 'avg(price)'], group:
   * ['mood'] })).results`.
   */
  aggregate<
    const A extends readonly AggregateTerm<ColumnOf<DB, T>>[],
    const G extends Columns<DB, T> = readonly [],
  >(
    query: AggregateQuery<DB, T, A, G>,
    options?: RequestOptions,
  ): Promise<Aggregates<AggregateOf<DB, T, A, G>>>
  /**
   * Iterates over all matching records, page by page (500 records unless set): `for await (const record of
   * collection.each(…))`.
   */
  each<
    const F extends Columns<DB, T> | undefined = undefined,
    const E extends ExpandOf<DB, T> = NoExpand,
    const H extends boolean | undefined = undefined,
    const N extends NearestTo<ColumnOf<DB, T>> | undefined = undefined,
    const S extends SemanticSearch<ColumnOf<DB, T>> | undefined = undefined,
  >(
    query?: ListQuery<DB, T, F, E, undefined, H, N, S>,
    options?: RequestOptions,
  ): AsyncGenerator<ListRecordOf<DB, T, F, E, H, N, S>, void>
  /** Returns the record with this primary key. @throws BasaltError `record_not_found` */
  one<const F extends Columns<DB, T> | undefined = undefined, const E extends ExpandOf<DB, T> = NoExpand>(
    key: KeyOf<DB, T>,
    shape?: Shape<F, E>,
    options?: RequestOptions,
  ): Promise<RecordOf<DB, T, F, E>>
  /** Creates a record and returns it. */
  create<const F extends Columns<DB, T> | undefined = undefined, const E extends ExpandOf<DB, T> = NoExpand>(
    record: InsertOf<DB, T>,
    shape?: Shape<F, E>,
    options?: WriteOptions,
  ): Promise<RecordOf<DB, T, F, E>>
  /** Creates up to 1000 records in one transaction. Either all of them are created or none. Returns them in the same order. */
  createMany(records: readonly InsertOf<DB, T>[], options?: WriteOptions): Promise<RowOf<DB, T>[]>
  /**
   * Creates a record, or updates the existing record that has the same values in the `on` columns. Returns the record.
   * @param conflict `on` lists the columns of a unique constraint. `action` is `update` unless set; `ignore` leaves the
   * existing record as it is.
   * @throws BasaltError `precondition_failed` with `ifMatch`, also if there is no record
   */
  upsert<const F extends Columns<DB, T> | undefined = undefined, const E extends ExpandOf<DB, T> = NoExpand>(
    record: InsertOf<DB, T>,
    conflict: { readonly on: Columns<DB, T>; readonly action?: 'update' | 'ignore' | undefined } & Shape<
      F,
      E
    >,
    options?: ConditionalOptions,
  ): Promise<RecordOf<DB, T, F, E>>
  /**
   * Updates the given columns of the record with this primary key and returns the record.
   * @throws BasaltError `record_not_found`; ConflictError with `ifMatch`
   */
  update<const F extends Columns<DB, T> | undefined = undefined, const E extends ExpandOf<DB, T> = NoExpand>(
    key: KeyOf<DB, T>,
    changes: UpdateOf<DB, T>,
    shape?: Shape<F, E>,
    options?: ConditionalOptions,
  ): Promise<RecordOf<DB, T, F, E>>
  /** Deletes the record with this primary key. @throws BasaltError `record_not_found`; ConflictError with `ifMatch` */
  delete(key: KeyOf<DB, T>, options?: ConditionalOptions): Promise<void>
  /** Returns true if a caught value is the conflict of an update or delete of this collection. */
  isConflict(thrown: unknown): thrown is ConflictError<RowOf<DB, T>>
  /**
   * Updates all records that match the filter, and returns their number. Changes nothing unless exactly `expect` records match.
   */
  updateAll(
    filter: Filter<RowOf<DB, T>>,
    changes: UpdateOf<DB, T>,
    expect: number,
    options?: WriteOptions,
  ): Promise<number>
  /**
   * Deletes all records that match the filter, and returns their number. Deletes nothing unless exactly `expect` records match.
   */
  deleteAll(filter: Filter<RowOf<DB, T>>, expect: number, options?: WriteOptions): Promise<number>
}

export function createCollection<DB extends AnyDatabase, T extends TableName<DB>>(
  transport: Transport,
  name: T,
): Collection<DB, T> {
  const path = `collections/${pathSegment(name)}`
  const recordPath = (key: unknown) => `${path}/${formatKey(key)}`
  /** Sends the parameters of a list in a URL, or in a body if they are too long for a URL. */
  const read = async (query: Parameters, options: RequestOptions) =>
    formatQuery(query).length < maxQueryLength
      ? transport.request('GET', path, { ...options, query, isRepeatable: true })
      : transport.request('POST', `${path}/query`, { ...options, body: query, isRepeatable: true })
  const list = async (query: AnyQuery = {}, options: RequestOptions = {}) => {
    const page = (await read(formatListQuery(query), options)) as { items?: unknown } | null
    readList(page?.items)
    return page
  }

  async function* each({ ...query }: AnyQuery = {}, options: RequestOptions = {}) {
    let cursor: string | undefined = ''
    while (cursor !== undefined) {
      const page = (await list({ perPage: 500, ...query, cursor }, options)) as CursorPage<unknown>
      yield* page.items
      cursor = page.nextCursor
    }
  }

  const bulk = async (method: string, filter: unknown, expect: number, more: object) => {
    const query = { filter: formatFilter(filter), expect: String(expect) }
    const response = await transport.write(method, path, { query, ...more })
    // The member is `updated` or `deleted`, depending on the method.
    const [count] = Object.values(response ?? {})
    if (typeof count !== 'number') throw invalidResponse('number')
    return count
  }

  /** Adds the current record to the error of a failed precondition. A replica may not have it yet. */
  const orConflict = async (write: Promise<unknown>, key: unknown, { signal, timeoutMs }: RequestOptions) => {
    try {
      return await write
    } catch (error) {
      if (!isBasaltError(error, 'precondition_failed')) throw error
      const read = { signal, timeoutMs, consistency: 'strong' } as const
      const current = await collection.one(key, undefined, read).catch((failure: unknown) => {
        if (!isBasaltError(failure, 'record_not_found')) throw error
      })
      throw new ConflictError(error, current)
    }
  }

  const collection = {
    name,
    list,
    each,
    first: async (query: AnyQuery = {}, options: RequestOptions = {}) =>
      ((await list({ ...query, perPage: 1, total: 'none' }, options)) as Page<unknown>).items[0],
    count: async (query: AnyQuery = {}, options: RequestOptions = {}) =>
      ((await list({ ...query, perPage: 1 }, options)) as Page<unknown>).totalItems,
    aggregate: async (query: AnyAggregateQuery, options: RequestOptions = {}) => {
      const response = (await read(formatAggregateQuery(query), options)) as { results?: unknown } | null
      readList(response?.results)
      return response
    },
    one: async (key: unknown, shape?: AnyShape, options: RequestOptions = {}) =>
      transport.exchange(
        'GET',
        recordPath(key),
        { ...options, query: formatShape(shape), isRepeatable: true },
        readTagged,
      ),
    create: async (record: unknown, shape?: AnyShape, options: WriteOptions = {}) =>
      transport.write('POST', path, { ...options, body: record, query: formatShape(shape) }, readTagged),
    createMany: async (records: readonly unknown[], options: WriteOptions = {}) => {
      if (!Array.isArray(records)) throw new TypeError('records is a list')
      const batch = records.map((body: unknown) => ({ table: name, method: 'create' as const, body }))
      return batch.length === 0 ? [] : await sendBatch(transport, batch, options)
    },
    upsert: async (
      record: unknown,
      { on, action, ...shape }: AnyConflict = {},
      options: ConditionalOptions = {},
    ) => {
      checkList('on', on)
      const query = { ...formatShape(shape), onConflict: on?.map(quoteName).join(), onConflictAction: action }
      return transport.write('POST', path, { ...withCondition(options), body: record, query }, readTagged)
    },
    update: async (key: unknown, changes: unknown, shape?: AnyShape, options: ConditionalOptions = {}) => {
      const detail = { ...withCondition(options), body: changes, query: formatShape(shape) }
      return orConflict(transport.write('PATCH', recordPath(key), detail, readTagged), key, options)
    },
    delete: async (key: unknown, options: ConditionalOptions = {}) =>
      orConflict(transport.write('DELETE', recordPath(key), withCondition(options)), key, options),
    isConflict: (thrown: unknown) => thrown instanceof ConflictError,
    updateAll: (filter: unknown, changes: unknown, expect: number, options: WriteOptions = {}) =>
      bulk('PATCH', filter, expect, { ...options, body: changes }),
    deleteAll: (filter: unknown, expect: number, options: WriteOptions = {}) =>
      bulk('DELETE', filter, expect, options),
  }
  // The interface describes what the server returns. Nothing checks it at run time.
  return collection as unknown as Collection<DB, T>
}

interface AnyConflict extends AnyShape {
  readonly on?: readonly string[]
  readonly action?: string
}

/** Formats a primary key for a URL path. @throws TypeError if a URL cannot contain the key */
function formatKey(key: unknown): string {
  const values = keyValues(key)
  return values.length === 1 ? values.map(pathSegment).join() : values.map(encodeURIComponent).join()
}
