import { arrayLiteral } from '../../../../database/array-literal.ts'
import type { Step } from '../../../../database/caller/caller-steps.ts'
import { type Answer, statement } from '../../../../database/connection/message.ts'
import { render, type Sql, sql } from '../../../../database/sql.ts'
import type { ObjectRow } from '../object.ts'

/** An object with what only the server sees of it. */
export type StoredObject = ObjectRow & {
  readonly key: string
  /** Entity tag without quotes. */
  readonly etag: string
}

/** Builds a statement of the caller. Values are texts, because the statement casts every parameter. */
export function asCaller(fragment: Sql): Step {
  const { text, values } = render(fragment)
  return {
    statement: statement(text),
    values: values.map((value) => (value === null ? null : String(value))),
  }
}

export function asLogin(fragment: Sql): Step {
  return { ...asCaller(fragment), asLogin: true }
}

/** Returns the first column of the first row. */
export function firstValue(answer: Answer | undefined): string | null {
  return answer?.rows[0]?.[0] ?? null
}

const visible = sql`
  'id', o.id, 'bucket', o.bucket, 'name', o.name, 'size', o.size, 'contentType', o.content_type, 'userId', o.user_id,
  'createdAt', o.created_at, 'updatedAt', o.updated_at`

export const visibleJson = sql`json_build_object(${visible})`
export const visibleColumns = sql`o.id, o.bucket, o.name, o.size, o.content_type, o.user_id, o.created_at, o.updated_at`
/** JSON with the columns that callers cannot read, for the login role. */
export const storedJson = sql`json_build_object(${visible}, 'key', o.key, 'etag', o.etag)`

export function readObject<Row extends ObjectRow>(json: Row): Row {
  const instant = (text: string) => new Date(text).toISOString()
  return { ...json, createdAt: instant(json.createdAt), updatedAt: instant(json.updatedAt) }
}

/** Reads if a bucket is public, and its object of the name, as the server sees them: without policies. */
export function lookUpObject(bucket: string, name: string): Sql {
  return sql`
    select json_build_object('isPublic', b.is_public, 'object', case when o.id is not null then ${storedJson} end)::text as found
    from basalt.buckets b left join basalt.objects o on o.bucket = b.name and o.name = ${name}
    where b.name = ${bucket}`
}

/** Finds the object if policies show it to the caller. */
export function seeObject(bucket: string, name: string): Sql {
  return sql`select o.id from basalt.objects o where o.bucket = ${bucket} and o.name = ${name}`
}

/** Finds the object of a key without policies, for {@link readStored}. */
export function findByKey(key: string): Sql {
  return sql`select basalt.stored_object(${key})`
}

export interface FoundObject {
  readonly isPublic: boolean
  readonly object: StoredObject
}

export function readStored(text: string | null): FoundObject | undefined {
  if (text === null) return undefined
  const { isPublic, object } = JSON.parse(text) as FoundObject
  return { isPublic, object: readObject(object) }
}

/** Storage limits of the caller, for the triggers of the statements that follow. */
export interface StorageLimits {
  /** Quota of a user who has none of its own, in bytes; empty if none applies. */
  readonly quota: string
  /** Limits of apps as JSON: bytes by the name of their plan; empty if none applies. */
  readonly ofPlans: string
}

export const unlimited: StorageLimits = { quota: '', ofPlans: '' }

export function setLimits({ quota, ofPlans }: StorageLimits): Sql {
  return sql`
    select set_config('basalt.storage_quota', ${quota}, true) is null,
      set_config('basalt.storage_limits', ${ofPlans}, true) is null`
}

export interface Content {
  readonly bucket: string
  readonly name: string
  readonly key: string
  readonly size: number
  readonly contentType: string
}

/** Conditions of a write, such as `If-Match` and `If-None-Match`. */
export interface WriteCondition {
  /** Tags without quotes, of which the object must have one; `*` if the object must exist. */
  readonly ifMatch?: readonly string[] | '*' | undefined
  /** True if the object must not exist. */
  readonly isNew?: boolean | undefined
  /** Tags without quotes, of which the object has none. */
  readonly ifNoneMatch?: readonly string[] | undefined
  /** Time of the latest permitted change of the object, in seconds since 1970. */
  readonly unmodifiedSince?: number | undefined
}

/** Holds if the object has not changed since a time. HTTP dates have whole seconds. */
function isUnmodified(since: number | undefined): Sql {
  return since === undefined
    ? sql`true`
    : sql`date_trunc('second', o.updated_at) <= to_timestamp(${String(since)}::float8)`
}

/**
 * Replaces the content of the object of this name, or adds it. An object that the caller may not replace, or not see, makes
 * the addition fail as a duplicate.
 */
export function putObject(
  { bucket, name, key, size, contentType }: Content,
  { userId, appId }: { readonly userId: string | null; readonly appId: string },
  { ifMatch, isNew = false, ifNoneMatch = [], unmodifiedSince }: WriteCondition,
): Sql {
  const isKnown = Array.isArray(ifMatch) ? sql`o.etag = any (${arrayLiteral(ifMatch)}::text[])` : sql`true`
  const mayReplace = isNew
    ? sql`false`
    : sql`${isKnown} and o.etag <> all (${arrayLiteral(ifNoneMatch)}::text[]) and ${isUnmodified(unmodifiedSince)}`
  return sql`
    with replaced as (
      update basalt.objects o
      set key = ${key}, size = ${String(size)}::bigint, content_type = ${contentType}, updated_at = now()
      where o.bucket = ${bucket} and o.name = ${name} and ${mayReplace}
      returning o.id
    )
    insert into basalt.objects (bucket, name, size, content_type, user_id, app_id, key)
    select ${bucket}, ${name}, ${String(size)}::bigint, ${contentType}, ${userId}::uuid, ${appId}::uuid, ${key}
    where ${ifMatch === undefined ? sql`true` : sql`false`} and not exists (select from replaced)`
}

/** Stages a key without bytes, for a trial. */
export function stageTrial(key: string): Sql {
  return sql`select basalt.stage_trial(${key})`
}

/** Fails, so that nothing of a trial stays. */
export const endTrial = sql`select basalt.end_trial()`

export function deleteObject(
  bucket: string,
  name: string,
  { ifMatch, unmodifiedSince }: WriteCondition,
): Sql {
  const isKnown = Array.isArray(ifMatch) ? sql`o.etag = any (${arrayLiteral(ifMatch)}::text[])` : sql`true`
  const isExpected = sql`${isKnown} and ${isUnmodified(unmodifiedSince)}`
  return sql`
    delete from basalt.objects o
    where o.bucket = ${bucket} and o.name = ${name} and ${isExpected}
    returning o.id`
}

export interface ObjectLocation {
  readonly bucket: string
  readonly name: string
}

/** Moves an object only with the content that was read: another content may not fit the other bucket. */
export function moveObject({ bucket, name, etag }: StoredObject, to: ObjectLocation): Sql {
  return sql`
    update basalt.objects o
    set bucket = ${to.bucket}, name = ${to.name}, updated_at = now()
    where o.bucket = ${bucket} and o.name = ${name} and o.etag = ${etag}
    returning o.id`
}
