import type { Column, Relation, Relationship } from '../../../../database/catalog/model.ts'
import type { JsonPath, SetOperator } from '../parse/condition.ts'
import type { Operator } from '../parse/tokens.ts'

/** A filter whose names are resolved and whose operators apply to the types. */
export type FilterPlan =
  | { readonly kind: 'and' | 'or'; readonly terms: readonly FilterPlan[] }
  | { readonly kind: 'not'; readonly term: FilterPlan }
  /** Whether the condition holds for a related record. */
  | {
      readonly kind: 'related'
      /** Of the relation that is filtered to `relation`. */
      readonly relationship: Relationship
      readonly from: Relation
      readonly relation: Relation
      readonly condition: FilterPlan
    }
  | TestPlan

/** Tests of one value; what it is compared with is text that takes the type of the operand. */
export type TestPlan = { readonly operand: Operand } & (
  | { readonly kind: 'compare'; readonly operator: Operator; readonly value: string }
  | { readonly kind: 'null'; readonly isNegated: boolean }
  | { readonly kind: 'in'; readonly values: readonly (string | null)[] }
  | { readonly kind: 'set'; readonly operator: SetOperator; readonly value: SetValue }
  | { readonly kind: 'matches'; readonly language: string; readonly words: string }
)

/** What a test looks at. */
export interface Operand {
  readonly column: Column
  /** What leads to a value inside of the column's JSON; none for the column itself. */
  readonly keys: JsonPath['keys']
  /** How the value is taken: as the column has it, or out of JSON as JSON, as text, or as the number that it is. */
  readonly as: 'column' | 'jsonb' | 'text' | 'number'
}

/** Elements of an array, or the text of a range or a document. */
export type SetValue = readonly string[] | string
