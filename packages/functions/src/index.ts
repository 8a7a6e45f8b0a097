export { BasaltError, isBasaltError } from '@basaltdb/client'
export type { CallRequest, Claims, Context, Log, User } from './context.ts'
export type {
  CallDatabase,
  Register,
  RegisteredDatabase,
  SqlRows,
  SqlTag,
  SqlValue,
  TransactionCollection,
} from './database.ts'
export type { Access, FunctionDefinition } from './definition.ts'
export { FunctionError, type FunctionErrorDetail } from './errors.ts'
export { type ParamsOf, type RouteAddress, type RouteOptions, route } from './route.ts'
export type { Schema, StandardSchema, ValueOf } from './schema.ts'
