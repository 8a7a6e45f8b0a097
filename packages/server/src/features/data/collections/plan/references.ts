import type { Column, Relation, Relationship } from '../../../../database/catalog/model.ts'
import { collectionErrors } from '../errors.ts'
import { maySelect, privilegesOf, type Reader, requireReadable } from './reader.ts'

/**
 * Returns the readable column of the name.
 *
 * @throws AppError unknown_column, insufficient_permissions
 */
export function requireColumn(relation: Relation, name: string, parameter: string, reader: Reader): Column {
  const column = relation.column.get(name)
  if (column === undefined) throw collectionErrors.unknownColumn(name, parameter)
  return requireReadable(column, reader)
}

/** Finds a relationship by its name, or by the column of a many-to-one. */
export function findRelationship(relation: Relation, name: string): Relationship | undefined {
  return (
    relation.relationships.get(name) ??
    [...relation.relationships.values()].find(
      ({ kind, pairs }) => kind === 'many-to-one' && pairs.length === 1 && pairs[0]?.from === name,
    )
  )
}

/**
 * Returns whether the reader may read the key on both sides. Without any readable column there is no readable key.
 */
export function mayFollow(
  relation: Relation,
  { pairs }: Relationship,
  target: Relation,
  reader: Reader,
): boolean {
  const isReadable = ({ column }: Relation, name: string) => {
    const found = column.get(name)
    return found !== undefined && maySelect(found, reader)
  }
  return (
    privilegesOf(target, reader).select &&
    pairs.every(({ from, to }) => isReadable(relation, from) && isReadable(target, to))
  )
}
