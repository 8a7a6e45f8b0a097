import { listByPage } from '../../api/page-list.ts'
import { get, post, put, remove, segment } from '../../api/request.ts'
import type { Grant } from '../users/api.ts'

/** Of `GET /api/admin/oauth/clients`. */
export interface OAuthClient {
  readonly id: string
  readonly appId: string | null
  readonly clientId: string
  readonly name: string
  readonly redirectUris: readonly string[]
  readonly scopes: readonly string[]
  readonly clientType: 'confidential' | 'public'
  /** Who has registered it. */
  readonly source: 'administrator' | 'registration' | 'document'
  readonly createdAt: string
  readonly revokedAt: string | null
  readonly activeAccessTokenCount: number
  readonly activeRefreshTokenCount: number
  readonly totalGrants: number
  readonly lastTokenIssuedAt: string | null
}

export interface ClientSettings {
  readonly name: string
  readonly redirectUris: readonly string[]
  readonly scopes: readonly string[]
}

export interface NewClient extends ClientSettings {
  readonly appId: string
  readonly clientType: string
}

const path = 'admin/oauth/clients'
const pathOf = (clientId: string) => `${path}/${segment(clientId)}`

export const listClients = (appId: string | undefined, cursor: string | undefined, signal: AbortSignal) =>
  listByPage<OAuthClient>(path, { appId }, cursor, signal)
export const readClient = (clientId: string, signal: AbortSignal) =>
  get<OAuthClient>(pathOf(clientId), {}, { signal })
export const createClient = (client: NewClient) =>
  post<{ clientSecret?: string; client: OAuthClient }>(path, client)
export const updateClient = (clientId: string, client: ClientSettings) =>
  put<OAuthClient>(pathOf(clientId), client)
export const revokeClient = (clientId: string) => remove(pathOf(clientId))
export const rotateSecret = (clientId: string) =>
  post<{ clientSecret: string }>(`${pathOf(clientId)}/rotate-secret`)
export const listGrantsTo = (clientId: string, signal: AbortSignal) =>
  get<Grant[]>(`${pathOf(clientId)}/grants`, {}, { signal })
