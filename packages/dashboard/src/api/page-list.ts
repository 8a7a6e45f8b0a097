import type { Operations } from './operations.ts'
import type { Page } from './queries.ts'
import { get, type Item, type Path, type Query, type Reads } from './request.ts'

/** Names of the list operations that have a parameter. */
type ListWith<Parameter extends string> = {
  [Name in Reads]: Parameter extends Operations[Name]['query'] ? Name : never
}[Reads]

const pageSize = 50

/**
 * Reads a list that the API pages by page number.
 *
 * @param cursor page number; undefined for the first page
 */
export async function listByPage<Name extends ListWith<'perPage'>>(
  path: Path<Name>,
  query: Omit<Query<Name>, 'page' | 'perPage'>,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<Page<Item<Name>>> {
  const sent = { ...query, page: cursor ?? 1, perPage: pageSize } as Query<Name>
  const answer = (await get<Name>(path, sent, { signal })) as {
    readonly items: readonly Item<Name>[]
    readonly page: number
    readonly totalPages: number
  }
  return { items: answer.items, next: answer.page < answer.totalPages ? String(answer.page + 1) : undefined }
}

/**
 * Reads a list that the API pages by `limit` and `offset`. A full page may be followed by another one.
 *
 * @param cursor offset of the page; undefined for the first page
 */
export async function listByOffset<Name extends ListWith<'offset'>>(
  path: Path<Name>,
  { limit, ...query }: Omit<Query<Name>, 'offset' | 'limit'> & { readonly limit: number },
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<Page<Item<Name>>> {
  const offset = Number(cursor ?? 0)
  const sent = { ...query, limit, offset } as Query<Name>
  const { items } = (await get<Name>(path, sent, { signal })) as { readonly items: readonly Item<Name>[] }
  return { items, next: items.length === limit ? String(offset + limit) : undefined }
}
