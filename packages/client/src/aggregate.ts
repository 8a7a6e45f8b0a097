import type { AnyDatabase, ColumnOf, RowOf, TableName } from './database-types.ts'
import { quoteName } from './filter.ts'
import { type AnyRows, formatNames, formatRows, type Parameters, type RowsQuery } from './list-query.ts'
import { checkList } from './options.ts'

type AggregateName = 'count' | 'count_distinct' | 'sum' | 'avg' | 'min' | 'max' | 'bbox' | 'centroid'

/** Figure over records: `count`, or a function of a column, such as `sum(price)`. */
export type AggregateTerm<Column extends string> = 'count' | `${AggregateName}(${Column})`

/** Name of a figure in a result: `sum(price)` becomes `sum_price`. */
type KeyOfTerm<Term> = Term extends `${infer Name}(${infer Column})` ? `${Name}_${Column}` : Term

type FigureOf<Row, Term> = Term extends `${infer Name}(${infer Column})`
  ? Name extends 'count' | 'count_distinct'
    ? number
    : Name extends 'sum' | 'avg'
      ? number | string | null
      : NonNullable<Row[Column & keyof Row]> | null
  : number

/** Query of figures over the records that match. */
export interface AggregateQuery<
  DB extends AnyDatabase,
  T extends TableName<DB>,
  Terms extends readonly AggregateTerm<ColumnOf<DB, T>>[],
  Group extends readonly ColumnOf<DB, T>[],
> extends RowsQuery<DB, T> {
  /** Figures to compute, such as `['count', 'sum(price)']`. */
  readonly aggregate: Terms
  /** Columns to group by. The result has one element for each combination of their values. */
  readonly group?: Group | undefined
  /** Columns of the group and figures to sort the groups by, with `-` for descending order, such as `-sum_price`. */
  readonly groupSort?: readonly (GroupKeyOf<Terms, Group> | `-${GroupKeyOf<Terms, Group>}`)[] | undefined
  /** Maximum number of groups; that of the server unless set. */
  readonly groupLimit?: number | undefined
}

type GroupKeyOf<Terms extends readonly string[], Group extends readonly string[]> =
  | Group[number]
  | (KeyOfTerm<Terms[number]> & string)

/**
 * Figures over records: one element, or one for each group. Sums and averages of `int8` and `numeric` are the digits as a
 * text if a number cannot hold all of them.
 */
export interface Aggregates<Result> {
  readonly results: Result[]
  /** False if there are more groups than the limit. */
  readonly exhaustive?: false
}

/** Columns of the group and figures, by name. */
export type AggregateOf<
  DB extends AnyDatabase,
  T extends TableName<DB>,
  Terms extends readonly string[],
  Group extends readonly string[],
> = {
  [Column in Group[number] & keyof RowOf<DB, T>]: RowOf<DB, T>[Column]
} & { [Term in Terms[number] as KeyOfTerm<Term> & string]: FigureOf<RowOf<DB, T>, Term> }

/** Query of figures over any table. */
export interface AnyAggregateQuery extends AnyRows {
  readonly aggregate: readonly string[]
  readonly group?: readonly string[] | undefined
  readonly groupSort?: readonly string[] | undefined
  readonly groupLimit?: number | undefined
}

/** Formats an aggregate query as URL parameters. */
export function formatAggregateQuery(query: AnyAggregateQuery): Parameters {
  const { aggregate, group, groupSort, groupLimit } = query
  checkList('aggregate', aggregate)
  if (groupSort !== undefined) checkList('groupSort', groupSort)
  return {
    ...formatRows(query),
    aggregate: aggregate.map(formatTerm).join(),
    group: formatNames('group', group),
    groupSort: groupSort?.map((key) => key.replace(/^(-?)(.*)$/s, formatKey)).join() || undefined,
    groupLimit: groupLimit?.toString(),
  }
}

const formatKey = (_: string, sign: string, name: string) => sign + quoteName(name)

/** Quotes the column of a term, which may contain any characters. */
function formatTerm(term: string): string {
  const [, name, column] = /^(\w+)\((.+)\)$/s.exec(term) ?? []
  return name === undefined || column === undefined ? term : `${name}(${quoteName(column)})`
}
