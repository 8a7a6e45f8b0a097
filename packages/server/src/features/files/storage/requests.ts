import type { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { anonymousIdentity } from '../../../http/access/identity.ts'
import { openSlowBody, type SlowBody } from '../../../http/requests/slow-body.ts'
import { readHttpDate } from '../../../http/responses/partial-content.ts'
import { type Static, Type } from '../../../lib/type.ts'
import { type IdempotencyKey, idempotencyHeaders, idempotencyKeyOf } from '../../data/idempotency/index.ts'
import { storageErrors } from './errors.ts'
import { bucketName, objectName, readObjectName } from './names.ts'
import type { ObjectLocation, WriteCondition } from './objects/object-queries.ts'
import type { Signature } from './signing/addresses.ts'

// Parts of requests that several operations on objects have.

export const objectPath = '/api/storage/:bucket/*'

export const objectParams = Type.Object({ bucket: bucketName, '*': objectName })
export type ObjectParams = Static<typeof objectParams>

/** Headers of writes of objects. */
export const objectHeaders = Type.Object(idempotencyHeaders)

/** Parameters of a signed address. */
export const signatureQuery = {
  exp: Type.Optional(Type.String({ description: 'Part of a signed address.' })),
  sig: Type.Optional(Type.String({ description: 'Part of a signed address.' })),
}

/**
 * Returns the bucket and the name in a path. The router decodes the path once and drops a slash at its end, which is restored:
 * `photos/` is not the object `photos`.
 *
 * @throws AppError invalid_object_name
 */
export function objectLocationOf(
  { bucket, '*': path }: ObjectParams,
  { url }: Pick<FastifyRequest, 'url'>,
): ObjectLocation {
  const end = /^[^?#]*\/(?:[?#]|$)/.test(url) ? '/' : ''
  return { bucket, name: readObjectName(path + end) }
}

/** Returns the key of a write that may be sent again. A signed address has no caller. @throws AppError invalid_idempotency_key */
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

/** Hands the body of an upload on as a stream with a time limit, and drops the rest of it when the work has ended. */
export async function withBody<Result>(
  { raw, body }: FastifyRequest,
  reply: FastifyReply,
  { seconds, endsAfterIdleMs }: Pick<SlowBody, 'endsAfterIdleMs'> & { readonly seconds: number },
  work: (source: Readable) => Promise<Result>,
): Promise<Result> {
  const source = openSlowBody({
    ...(endsAfterIdleMs === undefined ? {} : { endsAfterIdleMs }),
    socket: raw.socket,
    // Without a body there is no content type and no parser ran.
    payload: (body ?? raw) as Readable,
    timeoutMs: seconds * 1000,
    timedOut: () => {
      // The rest of the body is not waited for.
      reply.raw.setHeader('connection', 'close')
      return storageErrors.uploadTimedOut()
    },
  })
  try {
    return await work(source)
  } finally {
    source.destroy()
  }
}

/** Returns strong tags without their quotes (RFC 9110 §13.1.1); undefined for any. */
export function readTags(header: string | undefined): readonly string[] | undefined {
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
