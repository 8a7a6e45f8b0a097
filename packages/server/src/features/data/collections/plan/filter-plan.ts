import type { Column, Relation, Relationship } from '../../../../database/catalog/model.ts'
import type { JsonPath, SetOperator } from '../parse/condition.ts'
import type { Operator } from '../parse/tokens.ts'

/** Filter whose names are resolved and whose operators apply to the types. */
export type FilterPlan =
  | { readonly kind: 'and' | 'or'; readonly terms: readonly FilterPlan[] }
  | { readonly kind: 'not'; readonly term: FilterPlan }
  /** Condition on a related record. */
  | {
      readonly kind: 'related'
      /** Relationship from the filtered relation to `relation`. */
      readonly relationship: Relationship
      readonly from: Relation
      readonly relation: Relation
      readonly condition: FilterPlan
    }
  | TestPlan

/** Test of one value. The compared value is text that gets the type of the operand. */
export type TestPlan = { readonly operand: Operand } & (
  | { readonly kind: 'compare'; readonly operator: Operator; readonly value: string }
  | { readonly kind: 'null'; readonly isNegated: boolean }
  | { readonly kind: 'in'; readonly values: readonly (string | null)[] }
  | { readonly kind: 'set'; readonly operator: SetOperator; readonly value: SetValue }
  | { readonly kind: 'matches'; readonly language: string; readonly words: string }
)

/** Value that a test reads. */
export interface Operand {
  readonly column: Column
  /** Keys that lead to a value inside the column's JSON; empty for the column itself. */
  readonly keys: JsonPath['keys']
  /** Form in which the value is read: the column itself, or out of JSON as JSON, as text, or as a number. */
  readonly as: 'column' | 'jsonb' | 'text' | 'number'
}

/** Elements of an array, or the text of a range or a document. */
export type SetValue = readonly string[] | string
