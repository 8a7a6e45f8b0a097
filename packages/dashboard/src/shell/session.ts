import { currentAdministrator } from '../api/administrator.ts'
import { queryClient } from '../api/queries.ts'
import { get, post, remove } from '../api/request.ts'
import { sessionState } from '../api/session-state.ts'

export type Credential = { readonly email?: string; readonly password: string } | { readonly code: string }

/** Checks that the browser has a session. @throws BasaltError if the server is unavailable */
export async function checkSession(): Promise<void> {
  currentAdministrator.set(await get<'admin.session'>('admin/session'))
  sessionState.set('signed-in')
}

export async function signIn(credential: Credential): Promise<void> {
  await post<'admin.startSession'>('admin/session', credential)
  await checkSession()
  // Queries that failed without a session are refetched.
  await queryClient.invalidateQueries()
}

/** Requests a link for a new password by mail. The server does not reveal whether the address is known. */
export async function requestPassword(email: string): Promise<void> {
  await post<'administrators.forgotPassword'>('admin/auth/forgot', { email })
}

/** Sets the password of an administrator by the code of an invitation, which works once. */
export async function setPassword(code: string, password: string): Promise<void> {
  await post<'administrators.setPassword'>('admin/auth/password', { code, password })
}

export async function signOut(): Promise<void> {
  await remove<'admin.endSession'>('admin/session')
  sessionState.set('signed-out')
  queryClient.clear()
}
