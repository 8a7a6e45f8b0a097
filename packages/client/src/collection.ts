import { notTheAnswer, readList } from './answer.ts'
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
import { compileFilter, type Filter, quoteName } from './filter.ts'
import { checkList } from './options.ts'
import { pathSegment, type RequestOptions, type Transport, type WriteOptions } from './transport.ts'

/** What of a record is answered. */
export interface Shape<Fields, Expand> {
  readonly fields?: Fields | undefined
  readonly expand?: Expand | undefined
}

export interface ListQuery<DB extends AnyDatabase, T extends TableName<DB>, Fields, Expand>
  extends Shape<Fields, Expand> {
  readonly filter?: Filter<RowOf<DB, T>> | undefined
  /** Columns, descending with `-`; the primary key is appended. */
  readonly sort?: readonly (ColumnOf<DB, T> | `-${ColumnOf<DB, T>}`)[] | undefined
  readonly search?: string | undefined
  /** 20 unless given, at most 500. */
  readonly perPage?: number | undefined
}

export interface PageQuery {
  /** From 1. */
  readonly page?: number | undefined
  /** `none`: no count, and totals are -1. */
  readonly total?: 'exact' | 'estimated' | 'none' | undefined
  readonly cursor?: undefined
}

export interface CursorQuery {
  /** Empty for the first page, then `nextCursor` of the one before. */
  readonly cursor: string
}

export interface Page<Item> {
  readonly items: Item[]
  readonly page: number
  readonly perPage: number
  readonly totalItems: number
  readonly totalPages: number
  /** False if a search has more matches than the server ranks; `totalItems` then counts the ranked ones. */
  readonly searchExhaustive?: false
}

export interface CursorPage<Item> {
  readonly items: Item[]
  readonly perPage: number
  /** Absent on the last page. */
  readonly nextCursor?: string
  /** False if a search has more matches than the server ranks; the cursors then end with the ranked ones. */
  readonly searchExhaustive?: false
}

type Columns<DB extends AnyDatabase, T extends TableName<DB>> = readonly ColumnOf<DB, T>[]

/** A table or view of the database. */
export interface Collection<DB extends AnyDatabase, T extends TableName<DB>> {
  readonly name: T
  list<const F extends Columns<DB, T> | undefined = undefined, const E extends ExpandOf<DB, T> = NoExpand>(
    query: ListQuery<DB, T, F, E> & CursorQuery,
    options?: RequestOptions,
  ): Promise<CursorPage<RecordOf<DB, T, F, E>>>
  list<const F extends Columns<DB, T> | undefined = undefined, const E extends ExpandOf<DB, T> = NoExpand>(
    query?: ListQuery<DB, T, F, E> & PageQuery,
    options?: RequestOptions,
  ): Promise<Page<RecordOf<DB, T, F, E>>>
  /** The first record of the list, or undefined. */
  first<const F extends Columns<DB, T> | undefined = undefined, const E extends ExpandOf<DB, T> = NoExpand>(
    query?: Omit<ListQuery<DB, T, F, E>, 'perPage'>,
    options?: RequestOptions,
  ): Promise<RecordOf<DB, T, F, E> | undefined>
  /** How many records the list has. */
  count(
    query?: Pick<ListQuery<DB, T, undefined, NoExpand>, 'filter' | 'search'>,
    options?: RequestOptions,
  ): Promise<number>
  /** Every record, page by page: `for await (const record of collection.each(…))`. */
  each<const F extends Columns<DB, T> | undefined = undefined, const E extends ExpandOf<DB, T> = NoExpand>(
    query?: ListQuery<DB, T, F, E>,
    options?: RequestOptions,
  ): AsyncGenerator<RecordOf<DB, T, F, E>, void>
  /** @throws BasaltError record_not_found */
  one<const F extends Columns<DB, T> | undefined = undefined, const E extends ExpandOf<DB, T> = NoExpand>(
    key: KeyOf<DB, T>,
    shape?: Shape<F, E>,
    options?: RequestOptions,
  ): Promise<RecordOf<DB, T, F, E>>
  create<const F extends Columns<DB, T> | undefined = undefined, const E extends ExpandOf<DB, T> = NoExpand>(
    record: InsertOf<DB, T>,
    shape?: Shape<F, E>,
    options?: WriteOptions,
  ): Promise<RecordOf<DB, T, F, E>>
  /** Up to 1000 records in one transaction, all or none; answers them in their order. */
  createMany(records: readonly InsertOf<DB, T>[], options?: WriteOptions): Promise<RowOf<DB, T>[]>
  /** Creates a record, or updates the one that has its key in these columns. */
  upsert<const F extends Columns<DB, T> | undefined = undefined, const E extends ExpandOf<DB, T> = NoExpand>(
    record: InsertOf<DB, T>,
    conflict: { readonly on: Columns<DB, T>; readonly action?: 'update' | 'ignore' | undefined } & Shape<
      F,
      E
    >,
    options?: WriteOptions,
  ): Promise<RecordOf<DB, T, F, E>>
  /** @throws BasaltError record_not_found */
  update<const F extends Columns<DB, T> | undefined = undefined, const E extends ExpandOf<DB, T> = NoExpand>(
    key: KeyOf<DB, T>,
    changes: UpdateOf<DB, T>,
    shape?: Shape<F, E>,
    options?: WriteOptions,
  ): Promise<RecordOf<DB, T, F, E>>
  /** @throws BasaltError record_not_found */
  delete(key: KeyOf<DB, T>, options?: WriteOptions): Promise<void>
  /** Changes the records that the filter finds: as many as are expected, or none. Answers their number. */
  updateAll(
    filter: Filter<RowOf<DB, T>>,
    changes: UpdateOf<DB, T>,
    expect: number,
    options?: WriteOptions,
  ): Promise<number>
  /** Deletes the records that the filter finds: as many as are expected, or none. Answers their number. */
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
    const answer = await transport.write(method, path, { query, ...more })
    // `updated` or `deleted`, by the method.
    const [count] = Object.values(answer ?? {})
    if (typeof count !== 'number') throw notTheAnswer('number')
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
  // The types above say what the server answers; nothing of them is left when this runs.
  return collection as unknown as Collection<DB, T>
}

/** What of a record of any table is answered. */
export type AnyShape = Shape<readonly string[] | undefined, object>
interface AnyConflict extends AnyShape {
  readonly on?: readonly string[]
  readonly action?: string
}
/** The query of a list on any table. */
export interface AnyQuery extends AnyShape {
  readonly filter?: unknown
  readonly sort?: readonly string[] | undefined
  readonly search?: string | undefined
  readonly perPage?: number | undefined
  readonly page?: number | undefined
  readonly total?: string | undefined
  readonly cursor?: string | undefined
}

/** The parameters of a list in an address; caches take them as the key, as a filter has functions in it. */
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
  return term.startsWith('-') ? `-${quoteName(term.slice(1))}` : quoteName(term)
}

/** The parameters of a record in an address. */
export function formatShape({ fields, expand }: AnyShape = {}): Record<string, string | undefined> {
  if (fields !== undefined) checkList('fields', fields)
  if (expand !== undefined && (typeof expand !== 'object' || expand === null || Array.isArray(expand)))
    throw new TypeError('expand is an object, as in { expand: { a: true } }')
  return {
    fields: fields === undefined ? undefined : fields.map(quoteName).join(),
    expand: expand === undefined ? undefined : listPaths(expand).join() || undefined,
  }
}

/** `{ album: { artist: true } }` is `album.artist`, which brings the album, too. */
function listPaths(expand: object): string[] {
  return Object.entries(expand).flatMap(([name, nested]: [string, unknown]) => {
    if (nested === undefined || nested === false) return []
    const deeper = typeof nested === 'object' && nested !== null ? listPaths(nested) : []
    return deeper.length === 0 ? [quoteName(name)] : deeper.map((path) => `${quoteName(name)}.${path}`)
  })
}

/** The primary key of a record in an address. @throws TypeError for a key that no address can hold */
function formatKey(key: unknown): string {
  const values = keyValues(key)
  return values.length === 1 ? values.map(pathSegment).join() : values.map(encodeURIComponent).join()
}
