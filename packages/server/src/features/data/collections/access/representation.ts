import type { FastifyReply } from 'fastify'
import type { Identity } from '../../../../http/access/identity.ts'
import { digestOf, varyBy } from '../../../../http/responses/entity-tag.ts'
import { recordTag } from './precondition.ts'

/** Record as JSON, and its version. */
export interface VersionedRecord {
  readonly record: string
  /** Undefined on a table that Citus distributes. */
  readonly version: string | undefined
}

/**
 * Sets the entity tag of a record. It is strong, and `If-Match` compares the version in it. Without a version it is weak,
 * for `If-None-Match` only.
 */
export function tagRecord(reply: FastifyReply, identity: Identity | undefined, found: VersionedRecord): void {
  setTag(reply, identity, tagOf(found))
}

/** Sets the weak entity tag of a list. */
export function tagList(reply: FastifyReply, identity: Identity | undefined, body: string): void {
  setTag(reply, identity, `W/"${digestOf(body)}"`)
}

/**
 * Sets the entity tag of the record that a write returns. A read of the same representation has the same tag, so the next
 * write needs no read. The response itself is not stored.
 */
export function tagWritten(reply: FastifyReply, written: VersionedRecord): void {
  void reply.header('etag', tagOf(written))
}

/** Returns the entity tag of a record. */
export function tagOf({ record, version }: VersionedRecord): string {
  const digest = digestOf(record)
  return version === undefined ? `W/"${digest}"` : recordTag(version, digest)
}

/**
 * Sets the tag. A browser may store the response for the caller, and has to check before each use (RFC 9111 §5.2.2). Responses
 * to requests without a token are not stored.
 */
function setTag(reply: FastifyReply, identity: Identity | undefined, tag: string): void {
  void reply.header('etag', tag)
  if (identity === undefined || identity.kind === 'anonymous' || identity.kind === 'open') return
  void reply.header('cache-control', 'private, no-cache')
  varyBy(reply, 'Authorization', 'Cookie')
}
