import { listByPage } from '../../api/page-list.ts'
import { type Body, get, type Item, post, put, remove, segment } from '../../api/request.ts'

export type OAuthClient = Item<'oauthClients.list'>
export type ClientSettings = Body<'oauthClients.update'>
export type NewClient = Body<'oauthClients.create'>

const path = 'admin/oauth/clients'
const pathOf = (clientId: string) => `${path}/${segment(clientId)}` as const

export const listClients = (appId: string | undefined, cursor: string | undefined, signal: AbortSignal) =>
  listByPage<'oauthClients.list'>(path, { appId }, cursor, signal)
export const readClient = (clientId: string, signal: AbortSignal) =>
  get<'oauthClients.get'>(pathOf(clientId), {}, { signal })
export const createClient = (client: NewClient) => post<'oauthClients.create'>(path, client)
export const updateClient = (clientId: string, client: ClientSettings) =>
  put<'oauthClients.update'>(pathOf(clientId), client)
export const revokeClient = (clientId: string) => remove<'oauthClients.revoke'>(pathOf(clientId))
export const rotateSecret = (clientId: string) =>
  post<'oauthClients.rotateSecret'>(`${pathOf(clientId)}/rotate-secret`)
export const listGrantsTo = (clientId: string, signal: AbortSignal) =>
  get<'oauthClients.listGrants'>(`${pathOf(clientId)}/grants`, {}, { signal })
