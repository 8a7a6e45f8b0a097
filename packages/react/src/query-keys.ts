import {
  type AnyAggregateQuery,
  type AnyQuery,
  type AnyShape,
  formatAggregateQuery,
  formatListQuery,
  formatShape,
  stringifyExact,
} from '@basaltdb/client'
import type { Query, QueryFilters, QueryKey } from '@tanstack/react-query'
import type { Table } from './database.ts'

/**
 * Returns the query key of a list, which begins with the tables that it reads. Keys consist of strings, so they are equal on a
 * rendering server and in the browser. They also distinguish comparisons, which are functions.
 */
export function listKey(kind: 'list' | 'live', tables: readonly Table[], query: AnyQuery): QueryKey {
  return ['basalt', tables, kind, formatListQuery(query)]
}

/** Returns the query key of a record. */
export function recordKey(tables: readonly Table[], key: unknown, shape: AnyShape): QueryKey {
  // An invalid key fails the request, not the rendering.
  return ['basalt', tables, 'record', { key: [key].flat().map(String) }, formatShape(shape)]
}

/** Returns the query key of figures over the records of a table. */
export function aggregateKey(tables: readonly Table[], query: AnyAggregateQuery): QueryKey {
  return ['basalt', tables, 'aggregate', formatAggregateQuery(query)]
}

/** Returns the query key of a call of a database function. @param tables tables that the function reads */
export function rpcKey(tables: readonly Table[], procedure: string, args: object): QueryKey {
  return ['basalt', tables, 'rpc', procedure, stringifyExact(args)]
}

/** Returns the query key of a call of a function of the project. @param tables tables that the function reads */
export function functionKey(tables: readonly Table[], address: string, sent: object): QueryKey {
  return ['basalt', tables, 'function', address, stringifyExact(sent)]
}

/**
 * Returns a filter for `invalidateQueries` that matches the results affected by a write to one of these tables. Without
 * tables it matches all results.
 */
export function affectedBy(...tables: readonly Table[]): Pick<QueryFilters, 'predicate'> {
  return {
    predicate: ({ queryKey: [owner, read] }: Query) =>
      owner === 'basalt' &&
      (tables.length === 0 || (Array.isArray(read) && tables.some((table) => read.includes(table)))),
  }
}
