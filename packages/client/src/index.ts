export type { Operation, Operations } from './batch.ts'
export { type Client, type ClientOptions, createClient, type RpcOptions } from './client.ts'
export {
  type AnyQuery,
  type AnyShape,
  type Collection,
  type CursorPage,
  type CursorQuery,
  formatListQuery,
  formatShape,
  type ListQuery,
  type Page,
  type PageQuery,
  type Shape,
} from './collection.ts'
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
export type { ErrorSlug } from './error-slugs.ts'
export { BasaltError, type GraphqlError, isBasaltError } from './errors.ts'
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
  GraphqlArguments,
  GraphqlDocument,
  GraphqlOptions,
  TypedGraphqlDocument,
} from './graphql.ts'
export { randomId } from './random-id.ts'
export type { RequestOptions, TokenSource, WriteOptions } from './transport.ts'
