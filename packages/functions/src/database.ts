import {
  type AnyDatabase,
  type Collection,
  createClient,
  parseExact,
  stringifyExact,
  type TableName,
  type UntypedDatabase,
} from '@basaltdb/client'

/**
 * Registration of the database types that `basalt types` generates:
 * `declare module '@basaltdb/functions' { interface Register { database: Database } }`.
 */
// biome-ignore lint/suspicious/noEmptyInterface: the project adds the member
export interface Register {}

/** Registered database; any collection with any columns without a registration. */
export type RegisteredDatabase = Register extends { readonly database: infer DB extends AnyDatabase }
  ? DB
  : UntypedDatabase

/** Records of one table or view, in the transaction of the call. The methods are those of the typed client. */
export interface TransactionCollection<DB extends AnyDatabase, T extends TableName<DB>>
  extends Pick<
    Collection<DB, T>,
    'name' | 'list' | 'first' | 'count' | 'aggregate' | 'each' | 'create' | 'upsert' | 'update' | 'delete'
  > {
  /** Returns the record with this primary key. @throws BasaltError `record_not_found` */
  readonly get: Collection<DB, T>['one']
}

/** Value that `ctx.db.sql` binds. An array becomes an array of PostgreSQL, and any other object becomes JSON. */
export type SqlValue =
  | string
  | number
  | bigint
  | boolean
  | null
  | Date
  | Uint8Array
  | readonly (string | number | bigint | boolean | null | Date)[]
  | { readonly [member: string]: unknown }

/** Rows that a statement returned. */
export interface SqlRows<Row> extends ReadonlyArray<Row> {
  /** Number of rows that the statement returned or changed. */
  readonly count: number
}

/** Tag of SQL statements. Interpolated values are bound, never part of the text. */
export type SqlTag = <Row = Record<string, unknown>>(
  texts: TemplateStringsArray,
  ...values: readonly SqlValue[]
) => Promise<SqlRows<Row>>

/**
 * Database in the transaction of the call, with the role and the claims of the caller. The transaction begins with the first
 * write or `sql`, and is committed when the function returns. Reads before that are transactions of their own.
 */
export type CallDatabase<DB extends AnyDatabase = RegisteredDatabase> = {
  readonly [T in Exclude<TableName<DB>, 'sql' | 'from' | 'then'>]: TransactionCollection<DB, T>
} & {
  /** Returns the collection of a table or view. Tables outside the schema `public` are named `schema.table`. */
  from<T extends TableName<DB>>(table: T): TransactionCollection<DB, T>
  /** Runs one statement: `await ctx.db.sql<{ total: number }>`select sum(price) as total from item where id = ${id}``. */
  readonly sql: SqlTag
}

/** Connection of a call to the server. */
export interface Bridge {
  /** Sends a request of the data API. */
  request(request: BridgeRequest): Promise<BridgeResponse>
  /** Runs one statement. Values are in the text format of PostgreSQL, and the rows are a JSON array. */
  sql(
    text: string,
    values: readonly (string | null)[],
  ): Promise<{ readonly rows: string; readonly count: number }>
}

export interface BridgeRequest {
  readonly method: string
  /** Path below `/api/`. */
  readonly path: string
  readonly query: string
  readonly body: string | undefined
  readonly ifMatch: string | undefined
}

export interface BridgeResponse {
  readonly status: number
  readonly body: string
  readonly etag: string | undefined
}

/** Address of the requests, which only the bridge reads. */
const origin = 'http://functions.invalid'

/** Creates the database of one call. */
export function createDatabase(bridge: Bridge): CallDatabase {
  const client = createClient({
    url: origin,
    retryForMs: 0,
    timeoutMs: 0,
    fetch: (address, init) => send(bridge, String(address), init ?? {}),
  })
  const from = (table: string) => {
    const { one, ...collection } = client.from(table)
    return { ...collection, get: one }
  }
  const database = { sql: createSqlTag(bridge), from }
  // A table is found by its name, which only the server knows.
  return new Proxy(database, {
    get(target, name) {
      if (typeof name === 'symbol' || name === 'then') return undefined
      return Object.hasOwn(target, name) ? target[name as keyof typeof target] : from(name)
    },
  }) as unknown as CallDatabase
}

async function send(bridge: Bridge, address: string, init: RequestInit): Promise<Response> {
  const { pathname, search } = new URL(address)
  const { status, body, etag } = await bridge.request({
    method: init.method ?? 'GET',
    path: pathname.replace(/^\/api\//, ''),
    query: search.slice(1),
    body: typeof init.body === 'string' ? init.body : undefined,
    ifMatch: new Headers(init.headers).get('if-match') ?? undefined,
  })
  const headers = { 'content-type': 'application/json', ...(etag === undefined ? {} : { etag }) }
  return new Response(status === 204 ? null : body, { status, headers })
}

function createSqlTag(bridge: Bridge): SqlTag {
  return async <Row>(texts: TemplateStringsArray, ...values: readonly SqlValue[]): Promise<SqlRows<Row>> => {
    if (!Array.isArray(texts) || !Array.isArray(texts.raw))
      throw new TypeError('ctx.db.sql is a template tag: write ctx.db.sql`select …`')
    const text = texts.reduce((before, part, index) => `${before}$${index}${part}`)
    const { rows, count } = await bridge.sql(text, values.map(formatValue))
    // The type of the rows is that of the caller's statement.
    return Object.assign(parseExact(rows) as Row[], { count })
  }
}

function formatValue(value: SqlValue | undefined): string | null {
  if (value === null || value === undefined) return null
  if (Array.isArray(value)) return formatArray(value)
  return formatScalar(value as Exclude<SqlValue, null | readonly unknown[]>)
}

function formatScalar(value: Exclude<SqlValue, null | readonly unknown[]>): string {
  if (typeof value !== 'object') return String(value)
  if (value instanceof Date) return value.toISOString()
  if (value instanceof Uint8Array)
    return `\\x${Array.from(value, (byte) => byte.toString(16).padStart(2, '0')).join('')}`
  return stringifyExact(value)
}

/** Formats an array in the text format of PostgreSQL. */
function formatArray(values: readonly (string | number | bigint | boolean | null | Date)[]): string {
  const elements = values.map((value) =>
    value === null ? 'NULL' : `"${formatScalar(value).replace(/["\\]/g, '\\$&')}"`,
  )
  return `{${elements.join(',')}}`
}
