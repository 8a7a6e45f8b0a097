export {
  type AggregateOf,
  type AggregateQuery,
  type Aggregates,
  type AggregateTerm,
  type AnyAggregateQuery,
  formatAggregateQuery,
} from './aggregate.ts'
export type { Operation, Operations } from './batch.ts'
export { type Client, type ClientOptions, createClient, type RpcOptions } from './client.ts'
export type { Collection } from './collection.ts'
export type {
  AnyDatabase,
  ArgumentsOf,
  ColumnOf,
  ExpandOf,
  InsertOf,
  KeyOf,
  NoExpand,
  ProcedureName,
  RecordOf,
  ReturnsOf,
  RowOf,
  SortColumnOf,
  TableName,
  UntypedDatabase,
  UpdateOf,
} from './database-types.ts'
export { type ConditionalOptions, etagOf } from './entity-tag.ts'
export type { ErrorSlug } from './error-slugs.ts'
export { BasaltError, ConflictError, type GraphqlError, isBasaltError } from './errors.ts'
export { parseExact, stringify as stringifyExact } from './exact-json.ts'
export {
  and,
  Comparison,
  Condition,
  column,
  contains,
  eq,
  type Filter,
  type FilterObject,
  gt,
  gte,
  ilike,
  like,
  lt,
  lte,
  neq,
  not,
  oneOf,
  or,
  where,
} from './filter.ts'
export type {
  FunctionAddress,
  FunctionCall,
  FunctionInput,
  FunctionOptions,
  FunctionOutput,
  Functions,
} from './functions.ts'
export type {
  GraphqlArguments,
  GraphqlDocument,
  GraphqlOptions,
  TypedGraphqlDocument,
} from './graphql.ts'
export {
  type AnyQuery,
  type AnyShape,
  type CursorPage,
  type CursorQuery,
  type FacetCount,
  type FacetsOf,
  type FacetsPage,
  formatListQuery,
  formatShape,
  type GeoJson,
  type ListQuery,
  type ListRecordOf,
  type NearestTo,
  type Page,
  type PageQuery,
  type Point,
  type RowsQuery,
  type SemanticSearch,
  type Shape,
} from './list-query.ts'
export { randomId } from './random-id.ts'
export type { RequestOptions, TokenSource, WriteOptions } from './transport.ts'
