import type { Step } from '../../../../database/caller/caller-steps.ts'
import type { Answer } from '../../../../database/connection/message.ts'
import { sql } from '../../../../database/sql.ts'
import type { SystemDatabase } from '../../../../database/system-database.ts'
import type { UserDatabase } from '../../../../database/user-database.ts'
import { httpErrors } from '../../../../http/errors/errors.ts'
import type { Actor } from '../actor.ts'
import { storageErrors } from '../errors.ts'
import { type ObjectRow, type ShownObject, showObject, type UrlOf } from '../show.ts'
import { isDenied, translateFailure } from './failures.ts'
import { compareNames, countLimitOf, type ListAnswer, type ListWindow, listObjects } from './list-queries.ts'
import type { StoredObject } from './object-queries.ts'
import * as queries from './object-queries.ts'

export interface ObjectReaderDeps {
  readonly database: UserDatabase
  readonly system: SystemDatabase
  readonly urlOf: UrlOf
}

export interface ObjectPage {
  readonly items: readonly ShownObject[]
  readonly prefixes?: readonly string[]
  /** -1: not counted. */
  readonly totalItems: number
  /** There are more than `totalItems`. */
  readonly isTotalBounded?: true
  readonly nextCursor?: string
}

/** Cursor of a list: the last entry of the page before, in base64url. @throws AppError invalid_list_parameter */
export function readListCursor(cursor: string): string {
  const entry = Buffer.from(cursor, 'base64url').toString('utf8')
  if (writeListCursor(entry) !== cursor || entry.includes('\0')) {
    throw httpErrors.invalidListParameter('cursor', 'expected nextCursor of the page before')
  }
  return entry
}

function writeListCursor(entry: string): string {
  return Buffer.from(entry).toString('base64url')
}

export type ObjectReader = ReturnType<typeof createObjectReader>

/** What callers see of objects. */
export function createObjectReader({ database, system, urlOf }: ObjectReaderDeps) {
  async function read({ scope }: Pick<Actor, 'scope'>, step: Step): Promise<Answer | undefined> {
    const [answer] = await database.run(scope, [step], { isRead: true })
    return answer
  }

  /** Without policies, by the server itself: what the caller may see of it is decided next. */
  async function lookUp(bucket: string, name: string) {
    const found = await system.maybeOne<{ found: string }>(sql.prepared(queries.lookUpObject(bucket, name)))
    if (found === undefined) throw storageErrors.bucketNotFound()
    const { isPublic, object } = JSON.parse(found.found) as {
      isPublic: boolean
      object: StoredObject | null
    }
    return { isPublic, object: object === null ? undefined : queries.readObject(object) }
  }

  /** Whether policies show the object. A request without a token may have no right to ask. */
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

  function show(row: ObjectRow, isPublic: boolean): ShownObject {
    const { id, bucket, name, size, contentType, userId, createdAt, updatedAt } = row
    const visible = { id, bucket, name, size, contentType, userId, createdAt, updatedAt }
    return showObject(visible, isPublic ? urlOf : undefined)
  }

  /** The object, which is readable: in a public bucket, or by a policy. */
  async function getReadable(
    actor: Actor,
    bucket: string,
    name: string,
  ): Promise<{ readonly isPublic: boolean; readonly object: StoredObject }> {
    const { isPublic, object } = await lookUp(bucket, name)
    const isReadable = isPublic || (object !== undefined && (await isVisible(actor, bucket, name)))
    // Whether there is such a file is for those to know who may read it.
    if (!isReadable && actor.scope.kind === 'anonymous') throw storageErrors.missingAuthToken()
    if (!isReadable || object === undefined) throw storageErrors.fileNotFound()
    return { isPublic, object }
  }

  return {
    lookUp,
    show,
    getReadable,

    /** @throws AppError bucket_not_found, missing_auth_token */
    async list(actor: Actor, window: ListWindow): Promise<ObjectPage> {
      const { isPublic } = await lookUp(window.bucket, '')
      try {
        const answer = await read(actor, queries.asCaller(listObjects(window)))
        const page = JSON.parse(queries.firstValue(answer) ?? '{}') as ListAnswer<ObjectRow>
        const nextCursor = dropSurplus(page, window.limit)
        const countLimit = countLimitOf(window)
        return {
          items: page.items.map((row) => show(queries.readObject(row), isPublic)),
          ...(window.delimiter === '' ? {} : { prefixes: page.prefixes }),
          totalItems: Math.min(page.total ?? -1, countLimit),
          ...(page.total !== null && page.total > countLimit ? { isTotalBounded: true } : {}),
          ...(nextCursor === undefined ? {} : { nextCursor }),
        }
      } catch (error) {
        if (isDenied(error) && actor.scope.kind === 'anonymous') throw storageErrors.missingAuthToken()
        throw translateFailure(error)
      }
    },
  }
}

/** Removes the entry beyond the page, and returns the cursor of the next page where there was one. */
function dropSurplus({ items, prefixes }: ListAnswer<ObjectRow>, limit: number): string | undefined {
  if (items.length + prefixes.length <= limit) return undefined
  const isFolderLast = () => compareNames(prefixes.at(-1) ?? '', items.at(-1)?.name ?? '') > 0
  if (isFolderLast()) prefixes.pop()
  else items.pop()
  return writeListCursor((isFolderLast() ? prefixes.at(-1) : items.at(-1)?.name) ?? '')
}
