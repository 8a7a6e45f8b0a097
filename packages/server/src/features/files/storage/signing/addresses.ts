import { createHmac, randomBytes } from 'node:crypto'
import type { SystemDatabase } from '../../../../database/system-database.ts'
import { httpErrors } from '../../../../http/errors/errors.ts'
import { hashToken } from '../../../../lib/tokens.ts'
import type { Actor } from '../actor.ts'
import { storageErrors } from '../errors.ts'
import { objectPath } from '../object.ts'
import { isMissingReference } from '../objects/failures.ts'
import type { ObjectLocation, StoredObject } from '../objects/object-queries.ts'
import type { ObjectService } from '../objects/objects.ts'
import * as queries from './address-queries.ts'

const defaultSeconds = 3600
const maxSeconds = 604_800

/** Signature and expiry in an address. */
export interface Signature {
  readonly exp: string | undefined
  readonly sig: string
}

export interface SignedAddress {
  /** Relative: `/api/storage/…?exp=…&sig=…`. */
  readonly url: string
}

export interface AddressDeps {
  readonly database: SystemDatabase
  readonly objects: Pick<ObjectService, 'getReadable'>
  /** Writes of addresses. Default: each is a transaction of its own. */
  readonly writes?: AddressWrites
}

/** Statements that insert and delete addresses, as in `address-queries.ts`. */
export interface AddressWrites {
  readonly insert: (address: queries.NewAddress) => Promise<number | null | undefined>
  readonly delete: (location: ObjectLocation, owner: queries.AddressOwner | undefined) => Promise<number>
}

export type AddressService = ReturnType<typeof createAddressService>

/**
 * Creates the service for addresses that open one object without a token, for a time. The signature is an HMAC under a key of
 * its own, which is then forgotten; its hash is a row. So each is revoked by itself, on every node at once, expires by the
 * clock of the database, and says on whose behalf it works. It ends with the session, grant, key or client that signed it
 * (`basalt.end_derived_of_sessions`), unless that only expires.
 */
export function createAddressService({
  database,
  objects,
  writes = {
    insert: (address) => queries.insertAddress(database, address),
    delete: (location, owner) => queries.deleteAddresses(database, location, owner),
  },
}: AddressDeps) {
  async function sign(
    actor: Actor,
    { bucket, name }: ObjectLocation,
    seconds: number,
    object?: StoredObject,
  ): Promise<SignedAddress> {
    const kind = object === undefined ? 'upload' : 'download'
    const signed = JSON.stringify([kind, bucket, name])
    const signature = createHmac('sha256', randomBytes(32)).update(signed).digest('base64url')
    const scope = actor.scope.kind === 'unrestricted' ? null : scopeWithoutGrant(actor.scope)
    const signatureHash = hashToken(signature)
    const expiresAt = await writes
      .insert({ signatureHash, kind, bucket, name, object, actor, scope, seconds })
      .catch((error) => {
        if (!isMissingReference(error)) throw error
        // The object or its bucket was deleted meanwhile.
        throw object === undefined ? storageErrors.bucketNotFound() : storageErrors.fileNotFound()
      })
    if (expiresAt === undefined) throw httpErrors.invalidToken()
    if (expiresAt === null) throw storageErrors.fileNotFound()
    return { url: `${objectPath(bucket, name)}?exp=${expiresAt}&sig=${signature}` }
  }

  return {
    /** Signs a download for callers who may read the object. @throws AppError file_not_found, invalid_expiry */
    async signDownload(
      actor: Actor,
      location: ObjectLocation,
      expiresIn: number | undefined,
    ): Promise<SignedAddress> {
      const seconds = readSeconds(expiresIn)
      const { object } = await objects.getReadable(actor, location.bucket, location.name)
      return await sign(actor, location, seconds, object)
    },

    /** Signs an upload. The policies at the time of the upload decide if it is permitted. @throws AppError invalid_expiry */
    async signUpload(
      actor: Actor,
      location: ObjectLocation,
      expiresIn: number | undefined,
    ): Promise<SignedAddress> {
      return await sign(actor, location, readSeconds(expiresIn))
    },

    /** Ends the caller's addresses of an object; an administrator ends all. @returns how many */
    async revoke(actor: Actor, location: ObjectLocation): Promise<{ readonly revoked: number }> {
      const owner = actor.scope.kind === 'unrestricted' ? undefined : actor
      return { revoked: await writes.delete(location, owner) }
    },

    /** @throws AppError invalid_signed_url */
    async openDownload(location: ObjectLocation, { exp, sig }: Signature): Promise<StoredObject> {
      const expiresAt = readExpiry(exp)
      const object = await queries.findDownload(database, hashToken(sig), { ...location, expiresAt })
      if (object === undefined) throw storageErrors.invalidSignedUrl()
      return object
    },

    /** Returns the actor of the upload. @throws AppError invalid_signed_url */
    async openUpload(location: ObjectLocation, { exp, sig }: Signature): Promise<Actor> {
      const expiresAt = readExpiry(exp)
      const found = await queries.findUpload(database, hashToken(sig), { ...location, expiresAt })
      if (found === undefined) throw storageErrors.invalidSignedUrl()
      return { scope: found.scope ?? { kind: 'unrestricted' }, userId: found.user_id, appId: found.app_id }
    },

    /** Rejects an upload whose address has ended since it began, unless it has only expired. @throws AppError invalid_signed_url */
    async requireUpload(location: ObjectLocation, { exp, sig }: Signature): Promise<void> {
      const expiresAt = readExpiry(exp)
      const at = { ...location, expiresAt, mayHaveExpired: true }
      const found = await queries.findUpload(database, hashToken(sig), at)
      if (found === undefined) throw storageErrors.invalidSignedUrl()
    },
  }
}

/** Removes the grant from a scope. A program's limits were checked when it signed, and a set does not survive JSON. */
function scopeWithoutGrant(scope: Actor['scope']): Actor['scope'] {
  if (scope.kind !== 'caller') return scope
  const { grant: _, ...rest } = scope
  return rest
}

/** @throws AppError invalid_expiry */
function readSeconds(expiresIn = defaultSeconds): number {
  if (expiresIn < 1) throw storageErrors.invalidExpiry('expiresIn must be at least 1')
  if (expiresIn > maxSeconds) {
    throw storageErrors.invalidExpiry(`expiresIn must not exceed ${maxSeconds} (7 days)`)
  }
  return expiresIn
}

/** @throws AppError invalid_signed_url */
function readExpiry(exp: string | undefined): number {
  if (exp === undefined || !/^[1-9]\d{0,11}$/.test(exp)) throw storageErrors.invalidSignedUrl()
  return Number(exp)
}
