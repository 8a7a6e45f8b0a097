import type { Page } from './queries.ts'
import { get, type Query } from './request.ts'

/** A list that the API answers by the number of the page. */
interface PageAnswer<T> {
  readonly items: readonly T[]
  readonly page: number
  readonly totalPages: number
}

const pageSize = 50

/** @param cursor the number of the page; undefined for the first one */
export async function listByPage<T>(
  path: string,
  query: Query,
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<Page<T>> {
  const sent = { ...query, page: cursor ?? 1, perPage: pageSize }
  const { items, page, totalPages } = await get<PageAnswer<T>>(path, sent, { signal })
  return { items, next: page < totalPages ? String(page + 1) : undefined }
}

/**
 * Of a list that the API answers by `limit` and `offset`: after a page that is full there may be another one.
 *
 * @param cursor the offset of the page; undefined for the first one
 */
export async function listByOffset<T>(
  path: string,
  { limit, ...query }: Query & { readonly limit: number },
  cursor: string | undefined,
  signal: AbortSignal,
): Promise<Page<T>> {
  const offset = Number(cursor ?? 0)
  const { items } = await get<{ items: readonly T[] }>(path, { ...query, limit, offset }, { signal })
  return { items, next: items.length === limit ? String(offset + limit) : undefined }
}
