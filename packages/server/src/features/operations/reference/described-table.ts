import type { Catalog, Column, Relation } from '../../../database/catalog/model.ts'
import { isWritable } from './column-schema.ts'

/** Reader of the document: a caller sees the objects that its role has privileges on, an administrator all. */
export type Audience = 'caller' | 'administrator'

export function mayRead({ callers }: Relation, audience: Audience): boolean {
  return audience === 'administrator' || callers.select
}

/** A collection as far as the audience may use it. */
export interface DescribedTable {
  readonly relation: Relation
  /** Part of the names of components and operations. */
  readonly name: string
  /** Words for people; no name of a static tag. */
  readonly label: string
  readonly columns: readonly Column[]
  /** Members of {@link columns} that accept a value. */
  readonly writable: readonly Column[]
  /** True if records have an address. */
  readonly hasKey: boolean
  readonly can: Readonly<Record<'create' | 'update' | 'delete' | 'updateAll' | 'deleteAll', boolean>>
  readonly relationships: readonly { readonly name: string; readonly isMany: boolean; readonly to: string }[]
}

export function describeTable(
  catalog: Catalog,
  relation: Relation,
  audience: Audience,
  names: ReadonlyMap<string, string>,
): DescribedTable {
  const isAdministrator = audience === 'administrator'
  const { kind, collection, primaryKey, callers } = relation
  const sees = (column: Column | undefined) => isAdministrator || column?.callersMaySelect === true
  const columns = relation.columns.filter(sees)
  const writable = columns.filter(isWritable)
  const hasKey = primaryKey.length > 0 && primaryKey.every(sees)
  const isTable = kind === 'table' || kind === 'partitioned_table'
  const may = (action: 'insert' | 'update' | 'delete') => isTable && (isAdministrator || callers[action])
  return {
    relation,
    name: names.get(collection) ?? collection,
    label: `${kind.replaceAll('_', ' ')} ${collection}`,
    columns,
    writable,
    hasKey,
    can: {
      create: may('insert') && writable.length > 0,
      update: may('update') && hasKey && writable.length > 0,
      delete: may('delete') && hasKey,
      updateAll: may('update') && writable.length > 0,
      deleteAll: may('delete'),
    },
    relationships: [...relation.relationships.values()].flatMap(({ name, kind: side, target, pairs }) => {
      const other = catalog.relations.get(target)
      const to = names.get(target)
      const isSeen = pairs.every(
        (pair) => sees(relation.column.get(pair.from)) && sees(other?.column.get(pair.to)),
      )
      return to === undefined || !isSeen ? [] : [{ name, isMany: side === 'one-to-many', to }]
    }),
  }
}
