import { type Sql, sql } from '../../../../database/sql.ts'
import { visibleColumns, visibleJson } from './object-queries.ts'

/** Page of a list of objects. */
export interface ListWindow {
  readonly bucket: string
  readonly prefix: string
  /** Empty: no folders. */
  readonly delimiter: string
  readonly limit: number
  readonly offset: number
  /** Last entry of the page before; empty for the first page. */
  readonly after: string
  /** True if the entries of all pages are counted, up to {@link countLimitOf}. */
  readonly isCounted: boolean
}

/** Result of {@link listObjects}, which may have one entry more than the page. */
export interface ListAnswer<Row> {
  readonly items: Row[]
  readonly prefixes: string[]
  /** Number of entries, at most one beyond the limit; null if they are not counted. */
  readonly total: number | null
}

export const maxItems = 500

/**
 * Returns the maximum number of entries to count: 10,000 objects, or 1,000 objects and folders, as each folder costs a descent
 * of the index. A page by offset counts one entry beyond itself, so that a client that compares the two reads all pages.
 */
export function countLimitOf({ delimiter, offset, limit }: ListWindow): number {
  return Math.max(delimiter === '' ? 10_000 : 1000, offset + limit + 1)
}

/** Reads {@link ListAnswer}: objects and, once each, the folders, in the order of names. */
export function listObjects(window: ListWindow): Sql {
  return window.delimiter === '' ? listNames(window) : listFolders(window)
}

/**
 * Reads the page where it begins in an index of names. The limits are constants so that the planner of a prepared statement
 * expects to read little. For a limit that is a parameter, it assumes a tenth of all rows and prefers to sort them.
 */
function listNames(window: ListWindow): Sql {
  const { bucket, prefix, limit, offset, isCounted } = window
  const skipped = offset === 0 ? sql.empty : sql`offset ${String(offset)}::bigint`
  const counted = sql`
    select count(*) from (
      select from basalt.objects o where ${isIn(bucket, prefix, prefix)} order by o.name limit ${countedRows(window)}
    ) counted`
  return sql`
    select json_build_object(
      'items', coalesce((
        select json_agg(${visibleJson} order by o.name)
        from (
          select * from (
            select ${visibleColumns} from basalt.objects o where ${isIn(bucket, prefix, startOf(window))}
            order by o.name limit ${sql.literal(String(maxItems + 1))}::bigint ${skipped}
          ) ahead
          limit ${String(limit + 1)}::int
        ) o), '[]'),
      'prefixes', '[]'::json,
      'total', ${isCounted ? sql`(${counted})` : sql`null::bigint`})::text`
}

/**
 * Reads one object of each folder: a step finds the first name, and the next step begins after all names of its folder
 * (a loose index scan). Where that is no folder a step reads a hundred names, as more objects tend to follow.
 */
function listFolders(window: ListWindow): Sql {
  const { bucket, prefix, delimiter, limit, offset, isCounted } = window
  // The database counts characters, not the units of UTF-16.
  const lengthOf = (text: string) => sql`${String([...text].length)}::int`
  const rest = (name: Sql) => sql`substr(${name}, ${lengthOf(prefix)} + 1)`
  const last = sql`max(n.entry)`
  const isFolder = (name: Sql) => sql`strpos(${rest(name)}, ${delimiter}::text) > 0`
  const entry = sql`
    case when ${isFolder(sql`o.name`)} then ${prefix}::text || split_part(${rest(sql`o.name`)}, ${delimiter}::text, 1) || ${delimiter}::text
    else o.name end collate "C"`
  const names = (rows: string, condition: Sql) => sql`(
    select ${entry} as entry from basalt.objects o
    where ${condition} and ${isIn(bucket, prefix, sql`s.next`)}
    order by o.name limit ${sql.literal(rows)}::bigint)`
  const entries = isCounted
    ? countedRows(window)
    : sql`${String(limit + 1)}::bigint + ${String(offset)}::bigint`
  return sql`
    with recursive steps (entries, next, is_flat) as (
      select array[]::text[] collate "C", ${startOf(window)}::text collate "C", false
      union all
      select f.entries, f.next, f.is_flat
      from steps s cross join lateral (
        select array_agg(distinct n.entry order by n.entry) as entries,
          case when ${isFolder(last)} then left(${last}, -${lengthOf(delimiter)}) || ${afterAll(delimiter)}::text
            else ${last} || chr(1) end as next,
          not ${isFolder(last)} as is_flat
        from (${names('1', sql`not s.is_flat`)} union all ${names('100', sql`s.is_flat`)}) n
      ) f
      where s.next is not null
    ),
    entries as materialized (select unnest(s.entries) as entry from steps s limit ${entries}),
    page as (
      select e.entry, ${isFolder(sql`e.entry`)} as is_folder from entries e
      order by e.entry limit ${String(limit + 1)}::int offset ${String(offset)}::bigint
    )
    select json_build_object(
      'items', coalesce((
        select json_agg(${visibleJson} order by o.name)
        from page p cross join lateral (
          -- The limit keeps the planner from joining with the whole bucket.
          select ${visibleColumns} from basalt.objects o where o.bucket = ${bucket} and o.name = p.entry limit 1
        ) o
        where not p.is_folder), '[]'),
      'prefixes', coalesce((select json_agg(p.entry order by p.entry) from page p where p.is_folder), '[]'),
      'total', ${isCounted ? sql`(select count(*) from entries)` : sql`null::bigint`})::text`
}

/** Returns the limit of a count: a constant for the pages that are read most. */
function countedRows(window: ListWindow): Sql {
  const limit = countLimitOf(window)
  const isUsual = limit === countLimitOf({ ...window, offset: 0, limit: 1 })
  return isUsual ? sql`${sql.literal(String(limit + 1))}::bigint` : sql`${String(limit + 1)}::bigint`
}

/** Holds for names with the prefix, from one on: a range that an index finds before policies are evaluated. */
function isIn(bucket: string, prefix: string, start: string | Sql): Sql {
  const end = endOfPrefix(prefix)
  const isBefore = end === '' ? sql`true` : sql`o.name < ${end}`
  return sql`o.bucket = ${bucket} and o.name >= ${start} and ${isBefore}`
}

/** Returns the text that the names of a page begin at or after. */
function startOf({ prefix, delimiter, after }: ListWindow): string {
  if (after === '') return prefix
  const end = after.startsWith(prefix) && delimiter !== '' ? after.indexOf(delimiter, prefix.length) : -1
  // U+0001 is the first character that PostgreSQL stores.
  const start = end === -1 ? `${after}\u0001` : afterAll(after.slice(0, end + delimiter.length))
  return compareNames(start, prefix) < 0 ? prefix : start
}

/** Compares as the database does: by code points, which UTF-8 keeps in order. */
export function compareNames(one: string, other: string): number {
  return Buffer.compare(Buffer.from(one), Buffer.from(other))
}

/** Returns a text after all names that begin with the prefix: they have at most 1,024 bytes. */
function afterAll(prefix: string): string {
  return endOfPrefix(prefix) || prefix + String.fromCodePoint(maxPoint).repeat(256)
}

/** Returns the first text after all that begin with the prefix, in the order of code points; empty if none exists. */
function endOfPrefix(prefix: string): string {
  const points = [...prefix].map((character) => character.codePointAt(0) ?? 0)
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    if (last === maxPoint) continue
    // Surrogates are no characters.
    const next = last + 1 === firstSurrogate ? lastSurrogate + 1 : last + 1
    return String.fromCodePoint(...points, next)
  }
  return ''
}

const [firstSurrogate, lastSurrogate, maxPoint] = [0xd800, 0xdfff, 0x10ffff]
