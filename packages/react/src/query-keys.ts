import { type AnyQuery, type AnyShape, formatListQuery, formatShape } from '@basaltdb/client'
import type { Query, QueryFilters, QueryKey } from '@tanstack/react-query'
import type { Table } from './database.ts'

/**
 * What a list is kept by: the tables that it reads, first of all. Keys are made of texts: the same on the server that
 * renders the page and in the browser, and different for comparisons, which are functions.
 */
export function listKey(kind: 'list' | 'live', tables: readonly Table[], query: AnyQuery): QueryKey {
  return ['basalt', tables, kind, formatListQuery(query)]
}

export function recordKey(tables: readonly Table[], key: unknown, shape: AnyShape): QueryKey {
  // An invalid key fails the request, not the render.
  return ['basalt', tables, 'record', { key: [key].flat().map(String) }, formatShape(shape)]
}

/** The results that a write to one of these tables may change; all without tables. For `invalidateQueries`. */
export function affectedBy(...tables: readonly Table[]): Pick<QueryFilters, 'predicate'> {
  return {
    predicate: ({ queryKey: [owner, read] }: Query) =>
      owner === 'basalt' &&
      (tables.length === 0 || (Array.isArray(read) && tables.some((table) => read.includes(table)))),
  }
}
