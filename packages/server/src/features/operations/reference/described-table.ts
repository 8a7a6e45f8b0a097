import type { Catalog, Column, Relation } from '../../../database/catalog/model.ts'
import { isWritable } from './column-schema.ts'

/** Audience of the document. A caller sees the objects that its role has privileges on, an administrator sees all. */
export type Audience = 'caller' | 'administrator'

export function isReadable({ callers }: Relation, audience: Audience): boolean {
  return audience === 'administrator' || callers.select
}

/** Collection, as far as the audience may use it. */
export interface DescribedTable {
  readonly relation: Relation
  /** Part of the names of components and operations. */
  readonly name: string
  /** Label for readers, unlike any name of a static tag. */
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
  const isVisible = (column: Column | undefined) => isAdministrator || column?.callersMaySelect === true
  const columns = relation.columns.filter(isVisible)
  const writable = columns.filter(isWritable)
  const hasKey = primaryKey.length > 0 && primaryKey.every(isVisible)
  const isTable = kind === 'table' || kind === 'partitioned_table'
  const isAllowed = (action: 'insert' | 'update' | 'delete') =>
    isTable && (isAdministrator || callers[action])
  return {
    relation,
    name: names.get(collection) ?? collection,
    label: `${kind.replaceAll('_', ' ')} ${collection}`,
    columns,
    writable,
    hasKey,
    can: {
      create: isAllowed('insert') && writable.length > 0,
      update: isAllowed('update') && hasKey && writable.length > 0,
      delete: isAllowed('delete') && hasKey,
      updateAll: isAllowed('update') && writable.length > 0,
      deleteAll: isAllowed('delete'),
    },
    relationships: [...relation.relationships.values()].flatMap(({ name, kind: side, target, pairs }) => {
      const other = catalog.relations.get(target)
      const to = names.get(target)
      const arePairsVisible = pairs.every(
        (pair) => isVisible(relation.column.get(pair.from)) && isVisible(other?.column.get(pair.to)),
      )
      return to === undefined || !arePairsVisible ? [] : [{ name, isMany: side === 'one-to-many', to }]
    }),
  }
}
