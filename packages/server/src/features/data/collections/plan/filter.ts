import type { Catalog, Relation } from '../../../../database/catalog/model.ts'
import { requireRls } from '../access/require-rls.ts'
import { collectionErrors } from '../errors.ts'
import type { Condition, Subject } from '../parse/condition.ts'
import type { Filter } from '../parse/filter.ts'
import { filterFault } from '../parse/filter-fault.ts'
import { planTest } from './condition.ts'
import type { FilterPlan } from './filter-plan.ts'
import { type Reader, requireReadable } from './reader.ts'
import { findRelationship } from './references.ts'

const relationLevelLimit = 4
/**
 * Maximum number of conditions on related records. Each is a subquery per level; this many can be planned in
 * milliseconds.
 */
const relatedConditionLimit = 20

/** Context in which a filter is planned. */
export interface FilterContext {
  readonly catalog: Catalog
  readonly reader: Reader
  /** Text search configuration of MATCHES, quoted and qualified. */
  readonly language: string
}

/** @throws AppError invalid_filter, unknown_filter_column with the position; insufficient_permissions, rls_required */
export function planFilter(
  { catalog, reader, language }: FilterContext,
  relation: Relation,
  filter: Filter,
): FilterPlan {
  let relatedConditions = 0

  const plan = (part: Filter): FilterPlan => {
    switch (part.kind) {
      case 'and':
      case 'or':
        return { kind: part.kind, terms: part.terms.map(plan) }
      case 'not':
        return { kind: 'not', term: plan(part.term) }
      default:
        return planCondition(part)
    }
  }

  const planCondition = (condition: Condition): FilterPlan => {
    const column = condition.isPath ? undefined : relation.column.get(condition.column)
    if (column !== undefined) return planTest(requireReadable(column, reader), condition, language)
    if (condition.path === undefined) throw unknownColumn(condition)
    relatedConditions += 1
    if (relatedConditions > relatedConditionLimit) {
      throw filterFault(
        condition.position,
        `expected at most ${relatedConditionLimit} conditions on related records`,
      )
    }
    if (condition.path.length > relationLevelLimit + 1) {
      throw filterFault(condition.position, `expected at most ${relationLevelLimit} levels of relations`)
    }
    return planPath(relation, condition.path, condition)
  }

  const planPath = (from: Relation, path: readonly string[], condition: Condition): FilterPlan => {
    const [name = '', ...rest] = path
    if (rest.length === 0) {
      const column = from.column.get(name)
      if (column === undefined) throw unknownColumn(condition)
      return planTest(requireReadable(column, reader), condition, language)
    }
    const relationship = findRelationship(from, name)
    const target = relationship && catalog.relations.get(relationship.target)
    if (relationship === undefined || target === undefined) throw unknownColumn(condition)
    requireRls(target, reader)
    return {
      kind: 'related',
      relationship,
      from,
      relation: target,
      condition: planPath(target, rest, condition),
    }
  }

  return plan(filter)
}

/** Returns the relations that a filter reads beside the filtered one. */
export function relationsOfFilter(filter: FilterPlan): readonly Relation[] {
  switch (filter.kind) {
    case 'and':
    case 'or':
      return filter.terms.flatMap(relationsOfFilter)
    case 'not':
      return relationsOfFilter(filter.term)
    case 'related':
      return [filter.relation, ...relationsOfFilter(filter.condition)]
    default:
      return []
  }
}

function unknownColumn({ column, position }: Subject): Error {
  return collectionErrors.unknownFilterColumn(column).with({ data: { position } })
}
