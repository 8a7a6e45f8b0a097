import type {
  Column,
  DatabaseFunction,
  Parameter,
  Relation,
  Relationship,
} from '../../../../database/catalog/model.ts'

/** Meaning of an output field for the plan of a request. */
export type FieldMeaning =
  | { readonly kind: 'list' | 'byKey' | 'aggregate' | 'facets'; readonly relation: Relation }
  | { readonly kind: 'insert' | 'update' | 'delete'; readonly relation: Relation }
  | { readonly kind: 'affectedRows' }
  | { readonly kind: 'returning' }
  | ColumnMeaning
  | CallMeaning
  | {
      readonly kind: 'record' | 'records' | 'relatedAggregate'
      readonly relationship: Relationship
      readonly from: Relation
      readonly target: Relation
    }
  | { readonly kind: 'count' }
  /** Distance or rank that some lists have, by its name in their rows. */
  | { readonly kind: 'computed'; readonly name: string }
  | { readonly kind: 'figures'; readonly function: FigureFunction }
  | FigureMeaning
  /** Member of a facet. */
  | { readonly kind: 'facetColumn' | 'facetValues' | 'facetExhaustive' | 'facetMin' | 'facetMax' }
  /** Member of a value of a facet. */
  | { readonly kind: 'facetValue' | 'facetCount' }
  /** Changes of the records. */
  | { readonly kind: 'events'; readonly relation: Relation }
  /** Kind of a change. */
  | { readonly kind: 'action' }
  /** Field of a schema without tables. */
  | { readonly kind: 'nothing' }

export interface ColumnMeaning {
  readonly kind: 'column'
  readonly column: Column
  /** True for numbers that responses have as strings. */
  readonly isText: boolean
  /** Names of enum labels that differ from the labels. */
  readonly renamed: ReadonlyMap<string, string> | undefined
}

/** Call of a function. */
export interface CallMeaning {
  readonly kind: 'call'
  readonly called: DatabaseFunction
  /** Parameters by the names of their arguments. */
  readonly parameters: ReadonlyMap<string, Parameter>
  /** Table or result of the returned rows; undefined for a function that returns none. */
  readonly relation: Relation | undefined
  /** Returned value; undefined for a function that returns none. */
  readonly value: ColumnMeaning | undefined
}

export interface FigureMeaning {
  readonly kind: 'figure'
  readonly column: Column
  readonly isText: boolean
}

export type FigureFunction = 'min' | 'max' | 'sum' | 'avg'

declare module 'graphql' {
  interface GraphQLFieldExtensions<_TSource, _TContext, _TArgs> {
    meaning?: FieldMeaning
  }
}
