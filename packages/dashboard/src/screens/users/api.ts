import { get, patch, post, remove, segment } from '../../api/request.ts'

/** Of `GET /api/admin/users/{id}`. */
export interface User {
  readonly id: string
  /** Empty when there is none. */
  readonly email: string
  readonly emailVerified: boolean
  readonly phone?: string
  readonly is_anonymous: boolean
  readonly createdAt: string
  readonly updatedAt: string
  readonly disabled: boolean
  readonly lastActiveAt: string | null
  readonly hasPassword: boolean
  readonly factors: readonly string[]
  readonly providers: readonly string[]
}

export interface Session {
  readonly id: string
  readonly user_agent: string
  readonly ip_address: string
  readonly created_at: string
  readonly last_active_at: string
  readonly impersonated_by?: string
}

export interface Factor {
  readonly id: string
  readonly method: string
  readonly label: string
}

export interface Passkey {
  readonly credential_id: string
  readonly display_name: string
  readonly created_at: string
  readonly last_used_at?: string
}

export interface Identity {
  readonly provider: string
  readonly subject: string
  readonly email: string | null
  readonly name: string | null
  readonly proven: boolean
  readonly lastSignInAt: string | null
}

export interface Grant {
  readonly id: string
  readonly clientId: string
  readonly clientName: string
  readonly scope: string
  readonly allowedTables: readonly string[]
  readonly lastTokenIssuedAt: string | null
  readonly userId: string
  readonly email: string
}

export interface DeletionPreview {
  readonly references: readonly {
    readonly table: string
    readonly columns: readonly string[]
    readonly action: string
    /** Null: not counted in time; 10,001: more than 10,000. */
    readonly rows: number | null
  }[]
  readonly further: readonly {
    readonly table: string
    readonly references: string
    readonly action: string
  }[]
  readonly files: { readonly count: number; readonly bytes: number }
  readonly blockedBy: readonly string[]
}

export interface Impersonation {
  readonly id: string
  readonly userId: string
  readonly email: string
  readonly impersonatedBy: string
  readonly reason: string
  readonly aal: string
  readonly createdAt: string
  readonly expiresAt: string
}

export interface StartedImpersonation {
  readonly id: string
  readonly token: string
  readonly expiresAt: string
  readonly user: User
}

const pathOf = (id: string) => `admin/users/${segment(id)}`

/** Filters of the list, as in the address of the view. */
export interface UserFilters {
  readonly search: string | undefined
  readonly disabled: string | undefined
  readonly anonymous: string | undefined
  readonly verified: string | undefined
  readonly factor: string | undefined
  readonly provider: string | undefined
}

export async function listUsers(filters: UserFilters, cursor: string | undefined, signal: AbortSignal) {
  // Never counted: rows come first.
  const query = { ...filters, perPage: 50, skipTotal: true, cursor }
  const answer = await get<{ items: User[]; nextCursor?: string }>('admin/users', query, { signal })
  return { items: answer.items, next: answer.nextCursor }
}

export const readUser = (id: string, signal: AbortSignal) => get<User>(pathOf(id), {}, { signal })

export interface NewUser {
  readonly email?: string
  readonly phone?: string
  readonly password?: string
  readonly emailVerified?: boolean
  readonly invite?: boolean
}

export const createUser = (user: NewUser) => post<User>('admin/users', user)

export interface UserChange {
  readonly email?: string
  readonly emailVerified?: boolean
  readonly phone?: string | null
}

export const changeUser = (id: string, change: UserChange) => patch<User>(pathOf(id), change)
export const disableUser = (id: string) => post<User>(`${pathOf(id)}/disable`)
export const enableUser = (id: string) => post<User>(`${pathOf(id)}/enable`)
export const deleteUser = (id: string) => remove(pathOf(id))
export const mailUser = (id: string, purpose: string) => post(`${pathOf(id)}/mail`, { purpose })
export const previewDeletion = (id: string, signal: AbortSignal) =>
  get<DeletionPreview>(`${pathOf(id)}/deletion`, {}, { signal })

export const listSessions = (id: string, signal: AbortSignal) =>
  get<Session[]>(`${pathOf(id)}/sessions`, {}, { signal })
export const endSession = (id: string, session: string) =>
  remove(`${pathOf(id)}/sessions/${segment(session)}`)
export const endSessions = (id: string) => remove(`${pathOf(id)}/sessions`)

export const listFactors = (id: string, signal: AbortSignal) =>
  get<{ factors: Factor[] }>(`${pathOf(id)}/factors`, {}, { signal })
export const removeFactor = (id: string, factor: string) => remove(`${pathOf(id)}/factors/${segment(factor)}`)
export const listPasskeys = (id: string, signal: AbortSignal) =>
  get<{ credentials: Passkey[] }>(`${pathOf(id)}/passkeys`, {}, { signal })
export const removePasskey = (id: string, passkey: string) =>
  remove(`${pathOf(id)}/passkeys/${segment(passkey)}`)
export const listIdentities = (id: string, signal: AbortSignal) =>
  get<Identity[]>(`${pathOf(id)}/identities`, {}, { signal })
export const unlink = (id: string, provider: string) =>
  remove(`${pathOf(id)}/identities/${segment(provider)}`)
export const forgetProviderTokens = (id: string, provider: string) =>
  remove(`${pathOf(id)}/provider-tokens/${segment(provider)}`)

export const listGrants = (id: string, signal: AbortSignal) =>
  get<Grant[]>(`${pathOf(id)}/grants`, {}, { signal })
export const revokeGrant = (id: string, grant: string) => remove(`${pathOf(id)}/grants/${segment(grant)}`)

export const impersonate = (id: string, request: { readonly reason: string; readonly aal: string }) =>
  post<StartedImpersonation>(`${pathOf(id)}/impersonate`, request)
export const listImpersonations = (signal: AbortSignal) =>
  get<{ items: Impersonation[] }>('admin/impersonations', {}, { signal })
export const endImpersonation = (id: string) => remove(`admin/impersonations/${segment(id)}`)
