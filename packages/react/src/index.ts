/**
 * Registration of the database types of an application: `declare module '@basaltdb/react' { interface Register { database:
 * Database } }`.
 */
// biome-ignore lint/suspicious/noEmptyInterface: an application adds its member
export interface Register {}

export type { RegisteredDatabase } from './database.ts'
export {
  aggregateOptions,
  functionOptions,
  listOptions,
  liveOptions,
  recordOptions,
  rpcOptions,
} from './options.ts'
export { BasaltProvider, type BasaltProviderProps } from './provider.ts'
export { affectedBy } from './query-keys.ts'
export { useAggregate, useSuspenseAggregate } from './use-aggregate.ts'
export { useAuth } from './use-auth.ts'
export type { StreamStatus } from './use-changes.ts'
export { useClient } from './use-client.ts'
export { useFunction, useFunctionMutation, useSuspenseFunction } from './use-function.ts'
export { useList, useSuspenseList } from './use-list.ts'
export { type LiveView, useLive, useSuspenseLive } from './use-live.ts'
export { useMutation, type Writes } from './use-mutation.ts'
export { useRecord, useSuspenseRecord } from './use-record.ts'
export { type RpcInput, useRpc, useSuspenseRpc } from './use-rpc.ts'
export { type Upload, type UploadInput, useUpload } from './use-upload.ts'
export { useUser } from './use-user.ts'
export type { UserState } from './user-store.ts'
