import type { FastifyRequest } from 'fastify'
import { httpErrors } from '../../../../http/errors/errors.ts'
import { parseTags } from '../../../../http/responses/entity-tag.ts'
import type { AppError } from '../../../../lib/errors.ts'
import { collectionErrors } from '../errors.ts'

/**
 * Condition of a write on the record as it is: it exists, or it has one of these versions (RFC 9110 §13.1.1). No
 * version fulfils an empty list.
 */
export type Precondition = 'exists' | readonly string[]

/** Condition of a write of one record, and the form of its result. */
export interface WriteConditions {
  readonly precondition?: Precondition | undefined
  /** True if the result has the version of the record. */
  readonly isTagged?: boolean
}

/** Returns the precondition of a request; undefined without one. @throws AppError invalid_precondition */
export function preconditionOf({ headers }: FastifyRequest): Precondition | undefined {
  const header = headers['if-match']
  return header === undefined ? undefined : parsePrecondition(header, 'If-Match')
}

/** Parses a list of entity tags, or `*`. Weak tags fulfil no condition. @throws AppError invalid_precondition */
export function parsePrecondition(text: string, name: string): Precondition {
  const tags = parseTags(text)
  if (tags === undefined) throw collectionErrors.invalidPrecondition(name)
  if (tags === '*') return 'exists'
  return tags.flatMap(({ isWeak, opaque }) => (isWeak ? [] : [versionOf(opaque)]))
}

/** Returns whether a record with this version meets the precondition. */
export function meetsPrecondition(
  precondition: Precondition | undefined,
  version: string | undefined,
): boolean {
  if (precondition === undefined || precondition === 'exists') return true
  return version !== undefined && precondition.includes(version)
}

/** Returns the error of a precondition that the record does not meet. @param tag of the record as it is, if it exists */
export function preconditionFailed(tag: string | undefined): AppError {
  const error = httpErrors.preconditionFailed('the record has changed since it was read; nothing was written')
  return tag === undefined ? error : error.with({ data: { etag: tag }, headers: { etag: tag } })
}

/** Returns the tag of a record: its version, by which writes compare it, and the digest of the representation. */
export function recordTag(version: string, digest: string): string {
  return `"${version}.${digest}"`
}

/**
 * Returns a tag that stands for the version alone, for a record within a response. `If-Match` accepts it, and no
 * representation has it.
 */
export function versionTag(version: string): string {
  return `"${version}"`
}

function versionOf(opaque: string): string {
  return opaque.split('.', 1)[0] ?? ''
}

/** @throws AppError precondition_not_supported if a request that writes several records has a precondition */
export function refusePrecondition({ headers }: FastifyRequest): void {
  if (headers['if-match'] === undefined) return
  throw collectionErrors.preconditionNotSupported(
    'expected for one record; in a batch, per operation as ifMatch',
  )
}
