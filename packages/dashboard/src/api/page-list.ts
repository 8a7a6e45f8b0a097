import type { Operations } from './operations.ts'
import type { Page } from './queries.ts'
import { get, type Item, type Path, type Query, type Reads } from './request.ts'

/** The lists that have a parameter. */
type ListedBy<Parameter extends string> = {
  [Name in Reads]: Parameter extends Operations[Name]['query'] ? Name : never
}[Reads]

const pageSize = 50

/**
 * Of a list that the API answers by the number of the page.
 *
 * @param cursor the number of the page; undefined for the first one
 */
export async function listByPage<Name extends ListedBy<'perPage'>>(
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
 * Of a list that the API answers by `limit` and `offset`: after a page that is full there may be another one.
 *
 * @param cursor the offset of the page; undefined for the first one
 */
export async function listByOffset<Name extends ListedBy<'offset'>>(
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
