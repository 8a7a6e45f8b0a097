import type { Catalog, Column, Relation, Relationship } from '../../../../database/catalog/model.ts'
import { requireRls } from '../access/require-rls.ts'
import { collectionErrors } from '../errors.ts'
import { type Reader, requireReadable } from './reader.ts'
import { findRelationship } from './references.ts'

/** Maximum number of relations between a row and the column that it is sorted by. */
const maxJoins = 4

/** Column of the one row that a path of many-to-one relations leads to. */
export interface RelatedColumn {
  /** Joins from the row to the related one. There is at least one. */
  readonly joins: readonly RelatedJoin[]
}

/** Join of a many-to-one relation. It finds at most one row. */
export interface RelatedJoin {
  /** Positions of the relations from the first row to the target. Joins of one sort with the same positions are equal. */
  readonly positions: readonly number[]
  readonly relationship: Relationship
  readonly from: Relation
  readonly target: Relation
}

/**
 * Plans the path of a sort term, such as `['order', 'customer', 'name']`.
 *
 * @throws AppError unknown_column, invalid_parameter, insufficient_permissions, rls_required
 */
export function planRelatedColumn(
  { catalog, reader }: { readonly catalog: Catalog; readonly reader: Reader },
  relation: Relation,
  path: readonly string[],
): RelatedColumn & { readonly column: Column } {
  const written = path.join('.')
  if (path.length > maxJoins + 1) {
    throw collectionErrors.invalidParameter(`sort: expected at most ${maxJoins} relations in "${written}"`)
  }
  const joins: RelatedJoin[] = []
  let from = relation
  for (const name of path.slice(0, -1)) {
    const relationship = findRelationship(from, name)
    const target = relationship && catalog.relations.get(relationship.target)
    if (relationship === undefined || target === undefined) {
      throw collectionErrors.unknownColumn(written, 'sort')
    }
    if (relationship.kind !== 'many-to-one') {
      throw collectionErrors.invalidParameter(
        `sort: expected relations to one record in "${written}", but "${name}" leads to many`,
      )
    }
    requireRls(target, reader)
    const position = [...from.relationships.values()].indexOf(relationship)
    joins.push({ positions: [...(joins.at(-1)?.positions ?? []), position], relationship, from, target })
    from = target
  }
  const column = from.column.get(path.at(-1) ?? '')
  if (column === undefined) throw collectionErrors.unknownColumn(written, 'sort')
  return { joins, column: requireReadable(column, reader) }
}
