import {
  type ApiResponse,
  type Body,
  get,
  type Item,
  patch,
  post,
  remove,
  segment,
} from '../../api/request.ts'

export type User = ApiResponse<'users.get'>
export type Session = ApiResponse<'users.listSessions'>[number]
export type Factor = ApiResponse<'users.listFactors'>['factors'][number]
export type Identity = ApiResponse<'users.listIdentities'>[number]
export type Grant = ApiResponse<'users.listGrants'>[number]
export type DeletionPreview = ApiResponse<'users.previewDeletion'>
export type Impersonation = Item<'impersonations.list'>
export type StartedImpersonation = ApiResponse<'users.impersonate'>

const pathOf = (id: string) => `admin/users/${segment(id)}` as const

/** Filters of the list, as in the URL of the view. */
export interface UserFilters {
  readonly search: string | undefined
  readonly disabled: string | undefined
  readonly anonymous: string | undefined
  readonly verified: string | undefined
  readonly factor: string | undefined
  readonly provider: string | undefined
}

export async function listUsers(filters: UserFilters, cursor: string | undefined, signal: AbortSignal) {
  // The count is skipped, because the rows matter more.
  const query = { ...filters, perPage: 50, skipTotal: true, cursor }
  const answer = await get<'users.list'>('admin/users', query, { signal })
  return { items: answer.items, next: answer.nextCursor, searchedTo: answer.searchedTo }
}

const anyUser = {
  disabled: undefined,
  anonymous: undefined,
  verified: undefined,
  factor: undefined,
  provider: undefined,
}

/** Finds users by a part of their email, phone number or name, or by their id. */
export const findUsers = async (search: string, signal: AbortSignal) =>
  (await listUsers({ ...anyUser, search: search || undefined }, undefined, signal)).items

/** Counts users. PostgreSQL estimates counts above 100,000. */
export async function countUsers(filters: UserFilters, signal: AbortSignal) {
  const query = { ...filters, perPage: 1, total: 'estimated' }
  const { totalItems, isTotalEstimated = false } = await get<'users.list'>('admin/users', query, { signal })
  return { totalItems, isTotalEstimated }
}

export const readUser = (id: string, signal: AbortSignal) => get<'users.get'>(pathOf(id), {}, { signal })

export type NewUser = Body<'users.create'>

export const createUser = (user: NewUser) => post<'users.create'>('admin/users', user)

export type UserChange = Body<'users.update'>

export const changeUser = (id: string, change: UserChange) => patch<'users.update'>(pathOf(id), change)
export const disableUser = (id: string) => post<'users.disable'>(`${pathOf(id)}/disable`)
export const enableUser = (id: string) => post<'users.enable'>(`${pathOf(id)}/enable`)
export const deleteUser = (id: string) => remove<'users.delete'>(pathOf(id))

export type MailPurpose = Body<'users.sendMail'>['purpose']

export const mailUser = (id: string, purpose: MailPurpose) =>
  post<'users.sendMail'>(`${pathOf(id)}/mail`, { purpose })
export const previewDeletion = (id: string, signal: AbortSignal) =>
  get<'users.previewDeletion'>(`${pathOf(id)}/deletion`, {}, { signal })

export const listSessions = (id: string, signal: AbortSignal) =>
  get<'users.listSessions'>(`${pathOf(id)}/sessions`, {}, { signal })
export const endSession = (id: string, session: string) =>
  remove<'users.endSession'>(`${pathOf(id)}/sessions/${segment(session)}`)
export const endSessions = (id: string) => remove<'users.endSessions'>(`${pathOf(id)}/sessions`)

export const listFactors = (id: string, signal: AbortSignal) =>
  get<'users.listFactors'>(`${pathOf(id)}/factors`, {}, { signal })
export const removeFactor = (id: string, factor: string) =>
  remove<'users.removeFactor'>(`${pathOf(id)}/factors/${segment(factor)}`)
export const listPasskeys = (id: string, signal: AbortSignal) =>
  get<'users.listPasskeys'>(`${pathOf(id)}/passkeys`, {}, { signal })
export const removePasskey = (id: string, passkey: string) =>
  remove<'users.removePasskey'>(`${pathOf(id)}/passkeys/${segment(passkey)}`)
export const listIdentities = (id: string, signal: AbortSignal) =>
  get<'users.listIdentities'>(`${pathOf(id)}/identities`, {}, { signal })
export const unlink = (id: string, provider: string) =>
  remove<'users.removeIdentity'>(`${pathOf(id)}/identities/${segment(provider)}`)
export const forgetProviderTokens = (id: string, provider: string) =>
  remove<'users.removeProviderTokens'>(`${pathOf(id)}/provider-tokens/${segment(provider)}`)

export const listGrants = (id: string, signal: AbortSignal) =>
  get<'users.listGrants'>(`${pathOf(id)}/grants`, {}, { signal })
export const revokeGrant = (id: string, grant: string) =>
  remove<'users.revokeGrant'>(`${pathOf(id)}/grants/${segment(grant)}`)

export const impersonate = (id: string, request: Body<'users.impersonate'>) =>
  post<'users.impersonate'>(`${pathOf(id)}/impersonate`, request)
export const listImpersonations = (signal: AbortSignal) =>
  get<'impersonations.list'>('admin/impersonations', {}, { signal })
export const endImpersonation = (id: string) =>
  remove<'impersonations.end'>(`admin/impersonations/${segment(id)}`)
