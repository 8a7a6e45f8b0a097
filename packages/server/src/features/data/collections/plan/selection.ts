import type { Column, Relation, Relationship } from '../../../../database/catalog/model.ts'
import type { Sql } from '../../../../database/sql.ts'
import type { AggregateResult } from './aggregate.ts'
import { type OrderKey, relationsOfOrder } from './order.ts'
import { type RowsPlan, relationsOfRows } from './rows.ts'

/** Record with members that the client names. */
export interface SelectedRecord {
  readonly relation: Relation
  readonly selection: Selection
}

/** Members that the client names and nests, in the order of the response. */
export type Selection = readonly SelectedMember[]

export type SelectedMember = { readonly key: string } & (
  | SelectedColumn
  | { readonly kind: 'constant'; readonly value: string }
  /** Number that the rows of some lists have beside their columns, by its name; null in other lists. */
  | { readonly kind: 'computed'; readonly name: string | undefined }
  /** Value that is computed from the columns of the row. */
  | ({ readonly kind: 'value' } & RowValue)
  /** The same row once more, with members of its own. */
  | { readonly kind: 'self'; readonly record: SelectedRecord }
  | { readonly kind: 'record'; readonly related: Related; readonly record: SelectedRecord }
  | { readonly kind: 'records'; readonly related: Related; readonly list: RelatedList }
  | { readonly kind: 'aggregate'; readonly related: Related; readonly aggregate: SelectedAggregate }
)

/** Value of a row that no column holds. */
export interface RowValue {
  /** Columns that the value reads. */
  readonly columns: readonly Column[]
  compile(alias: string): Sql
}

export interface SelectedColumn {
  readonly kind: 'column'
  readonly column: Column
  /** True for numbers whose digits a JSON number may lose: the response has them as strings. */
  readonly isText: boolean
  /** Names of enum labels that differ from the labels. */
  readonly renamed?: ReadonlyMap<string, string> | undefined
}

/** Foreign key that leads from a row to the rows of a member. */
export interface Related {
  readonly relationship: Relationship
  /** Relation of the row. */
  readonly from: Relation
}

/** Page of related records. */
export interface RelatedList {
  readonly record: SelectedRecord
  readonly rows: RowsPlan
  readonly order: readonly OrderKey[]
  /** Columns of which each combination of values appears once. */
  readonly distinct: readonly Column[]
  readonly limit: number
  readonly offset: number
}

/** Figures over rows, grouped by function: `{"count": 3, "max": {"price": 20}}`. */
export interface SelectedAggregate {
  readonly rows: RowsPlan
  readonly members: readonly AggregateMember[]
}

export type AggregateMember = { readonly key: string } & (
  | { readonly kind: 'constant'; readonly value: string }
  | { readonly kind: 'count' }
  | { readonly kind: 'columns'; readonly figures: readonly SelectedFigure[] }
)

export type SelectedFigure = { readonly key: string } & (
  | { readonly kind: 'constant'; readonly value: string }
  | {
      readonly kind: 'figure'
      readonly function: AggregateResult['function']
      readonly column: Column
      /** True for numbers that the response has as strings. */
      readonly isText: boolean
    }
)

/** Returns the relation of the record, and those that its members read. */
export function relationsOfSelected({ relation, selection }: SelectedRecord): readonly Relation[] {
  const inner = selection.flatMap((member) => {
    switch (member.kind) {
      case 'self':
      case 'record':
        return relationsOfSelected(member.record)
      case 'records':
        return [
          ...relationsOfSelected(member.list.record),
          ...relationsOfRows(member.list.rows),
          ...relationsOfOrder(member.list.order),
        ]
      case 'aggregate':
        return relationsOfRows(member.aggregate.rows)
      default:
        return []
    }
  })
  return [relation, ...inner]
}

/** Returns the columns of the row that the members read. */
export function columnsOfSelection(relation: Relation, selection: Selection): readonly Column[] {
  return selection.flatMap((member) => {
    if (member.kind === 'self') return columnsOfSelection(relation, member.record.selection)
    if (member.kind === 'column') return [member.column]
    if (member.kind === 'value') return member.columns
    if (member.kind === 'constant' || member.kind === 'computed') return []
    return member.related.relationship.pairs.flatMap(({ from }) => relation.column.get(from) ?? [])
  })
}
