import type { Catalog, Column, Relation, Relationship } from '../../../../database/catalog/model.ts'
import { requireRls } from '../access/require-rls.ts'
import { collectionErrors } from '../errors.ts'
import type { RecordQuery } from '../parse/list-query.ts'
import { type Reader, readableRowKey, visibleColumns } from './reader.ts'
import { findRelationship, mayFollow, requireColumn } from './references.ts'
import { relationsOfSelected, type Selection } from './selection.ts'

/** Columns and related records of a returned record. */
export interface RecordPlan {
  readonly relation: Relation
  readonly columns: readonly Column[]
  /** Expanded relations. Undefined when none was requested; the record then has no `expand`. */
  readonly expand: readonly ExpandPlan[] | undefined
  /** Members in place of `columns` and `expand`, where the client names them. */
  readonly selection?: Selection
  readonly reader: Reader
}

export interface ExpandPlan {
  readonly relationship: Relationship
  readonly record: RecordPlan
  /** Columns that related records are sorted by, where there are many. */
  readonly order: readonly Column[]
}

/** Plans a record with all its columns and nothing expanded, as a write returns it. */
export function planWholeRecord(relation: Relation, reader: Reader): RecordPlan {
  return { relation, columns: visibleColumns(relation, reader), expand: undefined, reader }
}

/**
 * Plans the record that a write returns; undefined for the whole record. @throws AppError as of {@link planRecord}
 */
export function planAnswer(
  catalog: Catalog,
  relation: Relation,
  query: RecordQuery,
  reader: Reader,
): RecordPlan | undefined {
  if (query.fields === undefined && query.expand.length === 0) return undefined
  return planRecord(catalog, relation, query, reader)
}

/** Returns the relation of the record, and the expanded or selected ones. */
export function relationsOf({ relation, expand = [], selection }: RecordPlan): readonly Relation[] {
  if (selection !== undefined) return relationsOfSelected({ relation, selection })
  return [relation, ...expand.flatMap(({ record }) => relationsOf(record))]
}

/** @throws AppError unknown_column, unknown_relation, invalid_parameter */
export function planRecord(
  catalog: Catalog,
  relation: Relation,
  query: RecordQuery,
  reader: Reader,
): RecordPlan {
  const whole = planWholeRecord(relation, reader)
  const columns =
    query.fields?.map((name) => requireColumn(relation, name, 'fields', reader)) ?? whole.columns
  const plan = { ...whole, columns: [...new Set(columns)] }
  if (query.expand.length === 0) return plan
  return { ...plan, expand: planExpand(catalog, relation, query.expand, reader) }
}

function planExpand(
  catalog: Catalog,
  relation: Relation,
  paths: readonly (readonly string[])[],
  reader: Reader,
): ExpandPlan[] {
  if (relation.column.has('expand')) {
    throw collectionErrors.invalidParameter(
      `expand cannot be used on "${relation.collection}" because it has an "expand" column`,
    )
  }
  const byRelationship = new Map<Relationship, (readonly string[])[]>()
  for (const [name = '', ...rest] of paths) {
    const relationship = findRelationship(relation, name)
    if (relationship === undefined) throw collectionErrors.unknownRelation(name, relation.collection)
    const inner = byRelationship.get(relationship) ?? []
    if (rest.length > 0) inner.push(rest)
    byRelationship.set(relationship, inner)
  }
  return [...byRelationship].flatMap(([relationship, inner]) => {
    const target = catalog.relations.get(relationship.target)
    if (target === undefined) return []
    const record = planRecord(catalog, target, { fields: undefined, expand: inner }, reader)
    // A relation that the caller may not follow is left out, like one without records.
    if (!mayFollow(relation, relationship, target, reader)) return []
    requireRls(target, reader)
    return [{ relationship, record, order: readableRowKey(target, reader) }]
  })
}
