export { BasaltError, isBasaltError } from '@basaltdb/client'
export {
  type Account,
  type AccountContext,
  claims,
  type MailContext,
  type NewAccount,
  type OutgoingMail,
  onSignUp,
  type SignUp,
  type SignUpMethod,
  type SingleOptions,
  sendMail,
} from './account.ts'
export { after, type LoggedChange } from './after.ts'
export {
  type BeforeOptions,
  before,
  type Change,
  type CreateChange,
  type DeleteChange,
  type UpdateChange,
  type UpsertChange,
} from './before.ts'
export type {
  AdminContext,
  AdminHandle,
  AfterContext,
  CallRequest,
  Claims,
  Context,
  FetchInit,
  HookContext,
  JobContext,
  Log,
  User,
  WithAdmin,
} from './context.ts'
export type {
  CallDatabase,
  Register,
  RegisteredDatabase,
  SqlRows,
  SqlTag,
  SqlValue,
  TransactionCollection,
} from './database.ts'
export type { Access, FunctionDefinition, WriteOperation } from './definition.ts'
export type { Enqueue, EnqueueOptions, JobFunction, PayloadOf } from './enqueue.ts'
export { FunctionError, type FunctionErrorDetail } from './errors.ts'
export {
  type InboundContext,
  type InboundMessage,
  type InboundOptions,
  type InboundRequest,
  inbound,
  type VerifiedMessage,
  type Verify,
  type VerifyContext,
} from './inbound.ts'
export { type AttemptOptions, type JobOptions, job } from './job.ts'
export type { Mail, PushMessage } from './messages.ts'
export { type ParamsOf, type RouteAddress, type RouteFunction, type RouteOptions, route } from './route.ts'
export { type ScheduleOptions, schedule } from './schedule.ts'
export type { Schema, StandardSchema, ValueOf } from './schema.ts'
export { isHmac, type SignedContent, standardWebhookSignature, stripeSignature } from './signatures.ts'
export type { CallBucket, CallStorage } from './storage.ts'
