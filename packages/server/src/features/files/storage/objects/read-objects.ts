import type { Step } from '../../../../database/caller/caller-steps.ts'
import type { Answer } from '../../../../database/connection/message.ts'
import type { UserDatabase } from '../../../../database/user-database.ts'
import type { Actor } from '../actor.ts'
import { storageErrors } from '../errors.ts'
import type { ObjectRow, StorageObject, UrlOf } from '../object.ts'
import { isDenied, translateFailure } from './failures.ts'
import type { StoredObject } from './object-queries.ts'
import * as queries from './object-queries.ts'

export interface ObjectReaderDeps {
  readonly database: Pick<UserDatabase, 'run'>
  /** Returns the text of `lookUpObject` as the server itself reads it; undefined without the bucket. */
  readonly find: (bucket: string, name: string) => Promise<string | undefined>
  readonly urlOf: UrlOf
}

export type ObjectReader = ReturnType<typeof createObjectReader>

/** Creates the reader of objects, as callers see them. */
export function createObjectReader({ database, find, urlOf }: ObjectReaderDeps) {
  async function read({ scope }: Pick<Actor, 'scope'>, step: Step): Promise<Answer | undefined> {
    const [answer] = await database.run(scope, [step], { isRead: true })
    return answer
  }

  /** Finds an object as the server itself, without policies. The next step decides how much of it the caller may see. */
  async function lookUp(bucket: string, name: string) {
    const found = await find(bucket, name)
    if (found === undefined) throw storageErrors.bucketNotFound()
    const { isPublic, object } = JSON.parse(found) as {
      isPublic: boolean
      object: StoredObject | null
    }
    return { isPublic, object: object === null ? undefined : queries.readObject(object) }
  }

  /** Returns true if policies show the object. A request without a token may have no right to query objects. */
  async function isVisible(actor: Actor, bucket: string, name: string): Promise<boolean> {
    if (actor.scope.kind === 'unrestricted') return true
    try {
      const answer = await read(actor, queries.asCaller(queries.seeObject(bucket, name)))
      return queries.firstValue(answer) !== null
    } catch (error) {
      if (isDenied(error)) return false
      throw translateFailure(error)
    }
  }

  function show(
    { id, bucket, name, size, contentType, userId, createdAt, updatedAt }: ObjectRow,
    isPublic: boolean,
  ): StorageObject {
    const url = isPublic ? urlOf(bucket, name) : undefined
    const owner = userId ?? undefined
    return { id, bucket, name, size, contentType, userId: owner, createdAt, updatedAt, url }
  }

  /** Returns an object that is readable: in a public bucket, or by a policy. */
  async function getReadable(
    actor: Actor,
    bucket: string,
    name: string,
  ): Promise<{ readonly isPublic: boolean; readonly object: StoredObject }> {
    const { isPublic, object } = await lookUp(bucket, name)
    const isReadable = isPublic || (object !== undefined && (await isVisible(actor, bucket, name)))
    // Only callers who may read a file learn that it exists.
    if (!isReadable && actor.scope.kind === 'anonymous') throw storageErrors.missingAuthToken()
    if (!isReadable || object === undefined) throw storageErrors.fileNotFound()
    return { isPublic, object }
  }

  return { read, lookUp, show, getReadable }
}
