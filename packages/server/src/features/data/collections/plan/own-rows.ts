import type { Relation } from '../../../../database/catalog/model.ts'
import { isFoundByIndex } from '../../../../database/catalog/policy-expressions.ts'
import type { Reader } from './reader.ts'

/** Returns whether an index finds the rows that policies show the reader, for each of the permissive policies. */
export function findsOwnRows(relation: Relation, reader: Reader): boolean {
  if (reader === 'unrestricted' || !relation.rlsEnabled) return false
  const deciding = relation.policies.filter(
    ({ permissive, command, isForCallers, isForAnonymous }) =>
      permissive &&
      (command === 'SELECT' || command === 'ALL') &&
      (reader === 'caller' ? isForCallers : isForAnonymous),
  )
  return deciding.every((policy) => isFoundByIndex(relation, policy))
}
