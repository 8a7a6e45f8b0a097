import { type ApiResponse, get, type Item, post, put, remove, segment } from '../../api/request.ts'

export type LoadedFunctions = ApiResponse<'functions.list'>
export type LoadedFunction = LoadedFunctions['items'][number]
export type Activity = ApiResponse<'functions.activity'>['items'][number]
export type FunctionError = Item<'functions.listErrors'>
export type Frame = FunctionError['frames'][number]
export type Deploy = Item<'functions.listDeploys'>
export type Invocation = ApiResponse<'functions.invoke'>
export type Secret = Item<'secrets.list'>

export const listFunctions = (signal: AbortSignal) => get<'functions.list'>('admin/functions', {}, { signal })

export const readActivity = (signal: AbortSignal) =>
  get<'functions.activity'>('admin/functions/activity', {}, { signal })

export const listErrors = (name: string | undefined, limit: number, signal: AbortSignal) =>
  get<'functions.listErrors'>('admin/functions/errors', { function: name, limit }, { signal })

export const readSource = ({ file, line, deploy }: Frame, signal: AbortSignal) =>
  get<'functions.source'>('admin/functions/source', { file, line, deploy: deploy ?? undefined }, { signal })

export const invokeFunction = (call: {
  readonly name: string
  readonly input?: unknown
  readonly params?: Readonly<Record<string, string>>
  readonly as?: string
  readonly commit?: boolean
  readonly reason?: string
}) => post<'functions.invoke'>('admin/functions/invoke', call)

export const listDeploys = (signal: AbortSignal) =>
  get<'functions.listDeploys'>('admin/functions/deploys', {}, { signal })

export const promoteDeploy = (hash: string) =>
  post<'functions.promoteDeploy'>(`admin/functions/deploys/${segment(hash)}/promote`)

export const rollBack = () => post<'functions.rollback'>('admin/functions/deploys/rollback')

export const listSecrets = (signal: AbortSignal) => get<'secrets.list'>('admin/secrets', {}, { signal })

export const setSecret = (name: string, value: string) =>
  put<'secrets.set'>(`admin/secrets/${segment(name)}`, { value })

export const unsetSecret = (name: string) => remove<'secrets.unset'>(`admin/secrets/${segment(name)}`)
