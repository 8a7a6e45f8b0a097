import type { FastifyReply, FastifyRequest } from 'fastify'
import { anonymousIdentity } from '../../../http/access/identity.ts'
import { httpErrors } from '../../../http/errors/errors.ts'
import { readChoice } from '../../../http/requests/filters.ts'
import { readHttpDate } from '../../../http/responses/partial-content.ts'
import { type IdempotencyKey, idempotencyKeyOf } from '../../data/idempotency/index.ts'
import { storageErrors } from './errors.ts'
import { readObjectName, readPrefix } from './names.ts'
import { type ListWindow, maxItems } from './objects/list-queries.ts'
import type { Place, WriteCondition } from './objects/object-queries.ts'
import { readListCursor } from './objects/read-objects.ts'
import type { Signature } from './signing/addresses.ts'

// What the routes of objects read from a request.

export interface ObjectParams {
  readonly bucket: string
  readonly '*': string
}

/**
 * The path is decoded once, by the router, which drops a slash at its end: `photos/` is not the object `photos`.
 *
 * @throws AppError invalid_object_name
 */
export function placeOf({ params, url }: { readonly params: ObjectParams; readonly url: string }): Place {
  const { bucket, '*': path } = params
  const end = /^[^?#]*\/(?:[?#]|$)/.test(url) ? '/' : ''
  return { bucket, name: readObjectName(path + end) }
}

/** `a/b/sign` → `a/b` and `sign`. */
export function splitVerb<Verb extends string>(
  path: string,
  verbs: readonly Verb[],
): [string, Verb | undefined] {
  const verb = verbs.find((each) => path.endsWith(`/${each}`))
  return verb === undefined ? [path, undefined] : [path.slice(0, -verb.length - 1), verb]
}

/** Of a write that may be sent again; a signed address has no caller. @throws AppError invalid_idempotency_key */
export function keyOf(request: FastifyRequest, reply: FastifyReply): IdempotencyKey | undefined {
  return idempotencyKeyOf(request, reply, request.identity ?? anonymousIdentity)
}

export function signatureOf({
  exp,
  sig,
}: {
  readonly exp?: string | undefined
  readonly sig?: string | undefined
}): Signature | undefined {
  return exp === undefined && sig === undefined ? undefined : { exp, sig: sig ?? '' }
}

/** @throws AppError invalid_destination, invalid_object_name */
export function readDestination(
  from: Place,
  { bucket = from.bucket, name }: { readonly bucket?: string; readonly name?: string },
): Place {
  if (name === undefined) throw storageErrors.invalidDestination('name is required')
  return { bucket, name: readObjectName(name) }
}

/** Strong tags without their quotes (RFC 9110 §13.1.1); undefined for any. */
function readTags(header: string | undefined): readonly string[] | undefined {
  if (header === undefined || header.trim() === '*') return undefined
  return header.split(',').flatMap((each) => /^"([^"]*)"$/.exec(each.trim())?.[1] ?? [])
}

export function readCondition({ headers }: FastifyRequest): WriteCondition {
  const ifMatch = headers['if-match'] === undefined ? undefined : (readTags(headers['if-match']) ?? '*')
  const none = headers['if-none-match']
  return {
    ifMatch,
    isNew: none?.trim() === '*',
    // Weak tags are compared by what they say of the bytes (RFC 9110 §13.1.2).
    ifNoneMatch: readTags(none?.replaceAll(/(^|,)\s*W\//g, '$1')),
    // A tag says more (RFC 9110 §13.1.4).
    unmodifiedSince: ifMatch === undefined ? readHttpDate(headers['if-unmodified-since']) : undefined,
  }
}

/** Parameters of a list as sent. */
export interface ListQuery {
  readonly prefix?: string
  readonly delimiter?: string
  readonly limit?: number
  readonly offset?: number
  readonly cursor?: string
  readonly skipTotal?: string
}

/** @throws AppError invalid_list_parameter, invalid_object_name */
export function readListWindow(bucket: string, query: ListQuery): ListWindow {
  const { limit = 100, offset = 0, prefix = '', delimiter = '', cursor, skipTotal = 'false' } = query
  const skipsTotal = readChoice('skipTotal', skipTotal, ['true', 'false']) === 'true'
  if (cursor !== undefined && offset > 0) {
    throw httpErrors.invalidListParameter('offset', 'a cursor says where the page begins')
  }
  return {
    bucket,
    prefix: readPrefix(prefix),
    delimiter: readPrefix(delimiter),
    limit: Math.min(Math.max(limit, 1), maxItems),
    offset: Math.max(offset, 0),
    after: readListCursor(cursor ?? ''),
    isCounted: cursor === undefined && !skipsTotal,
  }
}
