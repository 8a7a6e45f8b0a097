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
  SortColumnOf,
  TableName,
  UpdateOf,
} from './database-types.ts'
import { compileFilter, type Filter, quoteName } from './filter.ts'
import { checkList } from './options.ts'
import { invalidResponse, readList } from './response.ts'
import { pathSegment, type RequestOptions, type Transport, type WriteOptions } from './transport.ts'

/** Columns and related records to include in each returned record. */
export interface Shape<Fields, Expand> {
  /** Columns to return; all columns unless set. */
  readonly fields?: Fields | undefined
  /** Related records to return with each record, such as `{ album: { artist: true } }`; none unless set. */
  readonly expand?: Expand | undefined
}

/** Query of a list: filter, order, search and page size. */
export interface ListQuery<DB extends AnyDatabase, T extends TableName<DB>, Fields, Expand>
  extends Shape<Fields, Expand> {
  /** Condition on the records: an object such as `{ done: false }`, or a condition made by `where`. */
  readonly filter?: Filter<RowOf<DB, T>> | undefined
  /**
   * Columns to sort by, with `-` for descending order: of the table, or of related records such as
   * `album.artist.name`. The primary key is always appended.
   */
  readonly sort?: readonly (SortColumnOf<DB, T> | `-${SortColumnOf<DB, T>}`)[] | undefined
  /** Full-text search query. */
  readonly search?: string | undefined
  /** Records on each page: at most 500; 20 unless set. */
  readonly perPage?: number | undefined
}

/** Paging by page number. */
export interface PageQuery {
  /** Page number, starting at 1; 1 unless set. */
  readonly page?: number | undefined
  /** Count of the matching records; `exact` unless set. With `none`, the totals are -1. */
  readonly total?: 'exact' | 'estimated' | 'none' | undefined
  readonly cursor?: undefined
}

/** Paging by cursor (keyset pagination): each page costs the same. */
export interface CursorQuery {
  /** Empty string for the first page, then the `nextCursor` of the previous page. */
  readonly cursor: string
}

/** Page of a list, by page number. */
export interface Page<Item> {
  readonly items: Item[]
  readonly page: number
  readonly perPage: number
  /** Number of matching records on all pages; -1 if they were not counted. */
  readonly totalItems: number
  /** Number of pages; -1 if the records were not counted. */
  readonly totalPages: number
  /** False if a search has more matches than the server ranks. `totalItems` then counts the ranked matches only. */
  readonly searchExhaustive?: false
}

/** Page of a list, by cursor. */
export interface CursorPage<Item> {
  readonly items: Item[]
  readonly perPage: number
  /** Cursor of the next page; absent on the last page. */
  readonly nextCursor?: string
  /** False if a search has more matches than the server ranks. The pages then end after the ranked matches. */
  readonly searchExhaustive?: false
}

type Columns<DB extends AnyDatabase, T extends TableName<DB>> = readonly ColumnOf<DB, T>[]

/** Records of one table or view. */
export interface Collection<DB extends AnyDatabase, T extends TableName<DB>> {
  /** Name of the table or view. */
  readonly name: T
  /** Returns one page of the records, by cursor. */
  list<const F extends Columns<DB, T> | undefined = undefined, const E extends ExpandOf<DB, T> = NoExpand>(
    query: ListQuery<DB, T, F, E> & CursorQuery,
    options?: RequestOptions,
  ): Promise<CursorPage<RecordOf<DB, T, F, E>>>
  /** Returns one page of the records, by page number. */
  list<const F extends Columns<DB, T> | undefined = undefined, const E extends ExpandOf<DB, T> = NoExpand>(
    query?: ListQuery<DB, T, F, E> & PageQuery,
    options?: RequestOptions,
  ): Promise<Page<RecordOf<DB, T, F, E>>>
  /** Returns the first record of the list, or undefined if no record matches. */
  first<const F extends Columns<DB, T> | undefined = undefined, const E extends ExpandOf<DB, T> = NoExpand>(
    query?: Omit<ListQuery<DB, T, F, E>, 'perPage'>,
    options?: RequestOptions,
  ): Promise<RecordOf<DB, T, F, E> | undefined>
  /** Returns the number of records that match. */
  count(
    query?: Pick<ListQuery<DB, T, undefined, NoExpand>, 'filter' | 'search'>,
    options?: RequestOptions,
  ): Promise<number>
  /**
   * Iterates over all matching records, page by page (500 records unless set): `for await (const record of
   * collection.each(…))`.
   */
  each<const F extends Columns<DB, T> | undefined = undefined, const E extends ExpandOf<DB, T> = NoExpand>(
    query?: ListQuery<DB, T, F, E>,
    options?: RequestOptions,
  ): AsyncGenerator<RecordOf<DB, T, F, E>, void>
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
   */
  upsert<const F extends Columns<DB, T> | undefined = undefined, const E extends ExpandOf<DB, T> = NoExpand>(
    record: InsertOf<DB, T>,
    conflict: { readonly on: Columns<DB, T>; readonly action?: 'update' | 'ignore' | undefined } & Shape<
      F,
      E
    >,
    options?: WriteOptions,
  ): Promise<RecordOf<DB, T, F, E>>
  /**
   * Updates the given columns of the record with this primary key and returns the record.
   * @throws BasaltError `record_not_found`
   */
  update<const F extends Columns<DB, T> | undefined = undefined, const E extends ExpandOf<DB, T> = NoExpand>(
    key: KeyOf<DB, T>,
    changes: UpdateOf<DB, T>,
    shape?: Shape<F, E>,
    options?: WriteOptions,
  ): Promise<RecordOf<DB, T, F, E>>
  /** Deletes the record with this primary key. @throws BasaltError `record_not_found` */
  delete(key: KeyOf<DB, T>, options?: WriteOptions): Promise<void>
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
  const list = async (query: AnyQuery = {}, options: RequestOptions = {}) => {
    const detail = { ...options, query: formatListQuery(query), isRepeatable: true }
    const page = (await transport.request('GET', path, detail)) as { items?: unknown } | null
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

  const collection = {
    name,
    list,
    each,
    first: async (query: AnyQuery = {}, options: RequestOptions = {}) =>
      ((await list({ ...query, perPage: 1, total: 'none' }, options)) as Page<unknown>).items[0],
    count: async ({ filter, search }: AnyQuery = {}, options: RequestOptions = {}) =>
      ((await list({ filter, search, perPage: 1 }, options)) as Page<unknown>).totalItems,
    one: async (key: unknown, shape?: AnyShape, options: RequestOptions = {}) =>
      transport.request('GET', recordPath(key), {
        ...options,
        query: formatShape(shape),
        isRepeatable: true,
      }),
    create: async (record: unknown, shape?: AnyShape, options: WriteOptions = {}) =>
      transport.write('POST', path, { ...options, body: record, query: formatShape(shape) }),
    createMany: async (records: readonly unknown[], options: WriteOptions = {}) => {
      if (!Array.isArray(records)) throw new TypeError('records is a list')
      const batch = records.map((body: unknown) => ({ table: name, method: 'create' as const, body }))
      return batch.length === 0 ? [] : await sendBatch(transport, batch, options)
    },
    upsert: async (
      record: unknown,
      { on, action, ...shape }: AnyConflict = {},
      options: WriteOptions = {},
    ) => {
      checkList('on', on)
      const query = { ...formatShape(shape), onConflict: on?.map(quoteName).join(), onConflictAction: action }
      return transport.write('POST', path, { ...options, body: record, query })
    },
    update: async (key: unknown, changes: unknown, shape?: AnyShape, options: WriteOptions = {}) =>
      transport.write('PATCH', recordPath(key), { ...options, body: changes, query: formatShape(shape) }),
    delete: async (key: unknown, options: WriteOptions = {}) =>
      transport.write('DELETE', recordPath(key), options),
    updateAll: (filter: unknown, changes: unknown, expect: number, options: WriteOptions = {}) =>
      bulk('PATCH', filter, expect, { ...options, body: changes }),
    deleteAll: (filter: unknown, expect: number, options: WriteOptions = {}) =>
      bulk('DELETE', filter, expect, options),
  }
  // The interface describes what the server returns. Nothing checks it at run time.
  return collection as unknown as Collection<DB, T>
}

/** Columns and related records to return, for any table. */
export type AnyShape = Shape<readonly string[] | undefined, object>
interface AnyConflict extends AnyShape {
  readonly on?: readonly string[]
  readonly action?: string
}
/** Query of a list on any table. */
export interface AnyQuery extends AnyShape {
  readonly filter?: unknown
  readonly sort?: readonly string[] | undefined
  readonly search?: string | undefined
  readonly perPage?: number | undefined
  readonly page?: number | undefined
  readonly total?: string | undefined
  readonly cursor?: string | undefined
}

/** Formats a list query as URL parameters. Caches use them as keys, because a filter contains functions. */
export function formatListQuery(query: AnyQuery): Record<string, string | undefined> {
  const { filter, sort, search, perPage, page, total, cursor, ...shape } = query
  if (sort !== undefined) checkList('sort', sort)
  return {
    ...formatShape(shape),
    filter: filter === undefined ? undefined : formatFilter(filter) || undefined,
    sort: sort?.map(formatSort).join() || undefined,
    search,
    perPage: perPage?.toString(),
    page: page?.toString(),
    cursor,
    total: total === 'estimated' ? total : undefined,
    skipTotal: total === 'none' ? 'true' : undefined,
  }
}

function formatFilter(filter: unknown): string {
  return compileFilter(filter as Filter<Record<string, unknown>>)
}

function formatSort(term: string): string {
  const [sign, name] = term.startsWith('-') ? ['-', term.slice(1)] : ['', term]
  // The server knows whether a name with dots is a column or a path. Other names are columns, whatever they contain.
  return sign + (/^[^\s",.]+(\.[^\s",.]+)+$/.test(name) ? name : quoteName(name))
}

/** Formats the columns and relations of a record as URL parameters. */
export function formatShape({ fields, expand }: AnyShape = {}): Record<string, string | undefined> {
  if (fields !== undefined) checkList('fields', fields)
  if (expand !== undefined && (typeof expand !== 'object' || expand === null || Array.isArray(expand)))
    throw new TypeError('expand is an object, as in { expand: { a: true } }')
  return {
    fields: fields === undefined ? undefined : fields.map(quoteName).join(),
    expand: expand === undefined ? undefined : listPaths(expand).join() || undefined,
  }
}

/** Lists the relation paths of `expand`: `{ album: { artist: true } }` becomes `album.artist`, which includes the album. */
function listPaths(expand: object): string[] {
  return Object.entries(expand).flatMap(([name, nested]: [string, unknown]) => {
    if (nested === undefined || nested === false) return []
    const deeper = typeof nested === 'object' && nested !== null ? listPaths(nested) : []
    return deeper.length === 0 ? [quoteName(name)] : deeper.map((path) => `${quoteName(name)}.${path}`)
  })
}

/** Formats a primary key for a URL path. @throws TypeError if a URL cannot contain the key */
function formatKey(key: unknown): string {
  const values = keyValues(key)
  return values.length === 1 ? values.map(pathSegment).join() : values.map(encodeURIComponent).join()
}
