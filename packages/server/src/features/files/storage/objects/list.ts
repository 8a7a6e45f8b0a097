import { httpErrors } from '../../../../http/errors/errors.ts'
import { ok, operation } from '../../../../http/operation.ts'
import { readChoice } from '../../../../http/requests/filters.ts'
import { checkedByHandler, component } from '../../../../http/schemas.ts'
import { type Static, Type } from '../../../../lib/type.ts'
import { type Actor, actorOf, requireBucket } from '../actor.ts'
import { storageErrors } from '../errors.ts'
import { bucketParams, readPrefix } from '../names.ts'
import { type ObjectRow, StorageObject } from '../object.ts'
import { isDenied, translateFailure } from './failures.ts'
import {
  compareNames,
  countLimitOf,
  type ListAnswer,
  type ListWindow,
  listObjects,
  maxItems,
} from './list-queries.ts'
import { asCaller, firstValue, readObject } from './object-queries.ts'
import type { ObjectService } from './objects.ts'

const withoutNul = { pattern: '^[^\\u0000]*$' }
/** Query of a list. */
export const listQuery = Type.Object({
  prefix: Type.Optional(
    checkedByHandler(withoutNul, Type.String({ description: 'Beginning of the names.' })),
  ),
  delimiter: Type.Optional(
    checkedByHandler(
      withoutNul,
      Type.String({
        description: 'Common parts of names up to it are listed once, in `prefixes`: `/` for folders.',
      }),
    ),
  ),
  limit: Type.Optional(
    checkedByHandler({ minimum: 1, maximum: maxItems }, Type.Integer({ description: 'Default: 100.' })),
  ),
  cursor: Type.Optional(
    checkedByHandler(
      { format: 'cursor' },
      Type.String({
        maxLength: 2000,
        description:
          '`nextCursor` of the page before; empty for the first page. Nothing is counted then, and each page costs the same.',
      }),
    ),
  ),
  offset: Type.Optional(
    checkedByHandler(
      { minimum: 0, maximum: 999_999_999_999_999 },
      Type.Integer({
        description:
          'Not together with `cursor`, which costs less: a page costs as much as all pages before it.',
      }),
    ),
  ),
  skipTotal: Type.Optional(
    checkedByHandler(
      { enum: ['true', 'false'] },
      Type.String({ description: '`true`: the total is not counted, and is -1.' }),
    ),
  ),
})

export type ListQuery = Static<typeof listQuery>

export const list = operation({
  guard: 'optional',
  programs: 'read',
  tag: 'storage',
  id: 'storage.list',
  method: 'GET',
  path: '/api/storage/:bucket',
  summary: 'List the objects of a bucket that policies show to the caller',
  params: bucketParams,
  query: listQuery,
  success: ok(
    component(
      'StorageObjectList',
      Type.Object({
        items: Type.Array(StorageObject),
        prefixes: Type.Optional(Type.Array(Type.String())),
        totalItems: Type.Integer({
          description:
            'Objects and prefixes of all pages; -1 where they are not counted. Counting ends at 10,000 objects, with a delimiter at 1,000 objects and prefixes.',
        }),
        isTotalBounded: Type.Optional(Type.Boolean({ description: 'There are more than `totalItems`.' })),
        nextCursor: Type.Optional(Type.String({ description: 'Where there are more.' })),
      }),
    ),
  ),
  async handle({ objects }: { readonly objects: ObjectService }, { params: { bucket }, query, identity }) {
    const actor = actorOf(identity)
    requireBucket(actor, bucket)
    return await listPage(objects, actor, bucket, query)
  },
})

/** Returns a page of a list. @throws AppError invalid_list_parameter, invalid_object_name, bucket_not_found, missing_auth_token */
export async function listPage(
  objects: Pick<ObjectService, 'lookUp' | 'read' | 'show'>,
  actor: Actor,
  bucket: string,
  sent: ListQuery,
) {
  const window = readWindow(bucket, sent)
  const { isPublic } = await objects.lookUp(bucket, '')
  try {
    const answer = await objects.read(actor, asCaller(listObjects(window)))
    const page = JSON.parse(firstValue(answer) ?? '{}') as ListAnswer<ObjectRow>
    const nextCursor = dropSurplus(page, window.limit)
    const countLimit = countLimitOf(window)
    return {
      items: page.items.map((row) => objects.show(readObject(row), isPublic)),
      prefixes: window.delimiter === '' ? undefined : page.prefixes,
      totalItems: Math.min(page.total ?? -1, countLimit),
      isTotalBounded: (page.total ?? 0) > countLimit || undefined,
      nextCursor,
    }
  } catch (error) {
    if (isDenied(error) && actor.scope.kind === 'anonymous') throw storageErrors.missingAuthToken()
    throw translateFailure(error)
  }
}

/** @throws AppError invalid_list_parameter, invalid_object_name */
function readWindow(bucket: string, sent: ListQuery): ListWindow {
  const { limit = 100, offset = 0, prefix = '', delimiter = '', cursor, skipTotal = 'false' } = sent
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
    after: readCursor(cursor ?? ''),
    isCounted: cursor === undefined && !skipsTotal,
  }
}

/** Reads a cursor: the last entry of the page before, in base64url. @throws AppError invalid_list_parameter */
function readCursor(cursor: string): string {
  const entry = Buffer.from(cursor, 'base64url').toString('utf8')
  if (writeCursor(entry) !== cursor || entry.includes('\0')) {
    throw httpErrors.invalidListParameter('cursor', 'expected nextCursor of the page before')
  }
  return entry
}

function writeCursor(entry: string): string {
  return Buffer.from(entry).toString('base64url')
}

/** Removes the entry beyond the page, and returns the cursor of the next page where there was one. */
function dropSurplus({ items, prefixes }: ListAnswer<ObjectRow>, limit: number): string | undefined {
  if (items.length + prefixes.length <= limit) return undefined
  const isFolderLast = () => compareNames(prefixes.at(-1) ?? '', items.at(-1)?.name ?? '') > 0
  if (isFolderLast()) prefixes.pop()
  else items.pop()
  return writeCursor((isFolderLast() ? prefixes.at(-1) : items.at(-1)?.name) ?? '')
}
