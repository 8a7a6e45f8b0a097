import type { FastifyRequest } from 'fastify'
import { Type } from '../../../lib/type.ts'
import { idempotencyHeaders } from '../idempotency/index.ts'
import { admitWhere, isOpenFor, type Privilege } from './access/public-access.ts'
import type { Collections } from './collections.ts'

/** Shared parts of the data API's descriptions. What is valid depends on the table, so the handlers check it. */

export const collectionPath = '/api/collections/:table'
export const recordPath = `${collectionPath}/:id`

export const tableParams = Type.Object({
  table: Type.String({ description: 'A table or view. Outside `public` it is written `schema.table`.' }),
})

export const recordParams = Type.Object({
  ...tableParams.properties,
  id: Type.String({ description: 'The primary key. The values of a composite key are joined by commas.' }),
})

/** Operation that reads a collection. */
export const reading = { guard: 'data', programs: 'read', tag: 'collections', ...openFor('select') } as const

/** Operation that reads a collection by {@link withCatalogOf}, so that viewers may call it, too. */
export const viewing = { ...reading, permission: 'rows.view' } as const

/**
 * Returns the options of an operation that writes a collection. @param privileges of which a request without a token
 * needs one
 */
export function writing(...privileges: readonly Privilege[]) {
  return { ...writingAnywhere, ...openFor(...privileges) }
}

/** Returns the options of an operation that writes one record, whose version a precondition can require. */
export function writingOne(...privileges: readonly Privilege[]) {
  return {
    ...writing(...privileges),
    headers: Type.Object({ ...idempotencyHeaders, ...preconditionHeaders }),
  }
}

const preconditionHeaders = {
  'if-match': Type.Optional(
    Type.String({
      description:
        'Entity tags of the record, or `*` for any. The write is a 412 `precondition_failed` when the record has another version.',
    }),
  ),
}

/** Options of an operation that writes several collections. */
export const writingAnywhere = {
  guard: 'data',
  programs: 'write',
  tag: 'collections',
  headers: Type.Object(idempotencyHeaders),
} as const

function openFor(...privileges: readonly Privilege[]) {
  const isGranted = isOpenFor(...privileges)
  return {
    admitsAnonymous: (request: FastifyRequest, { catalog }: Pick<Collections, 'catalog'>) =>
      admitWhere(catalog, isGranted, request),
  }
}
