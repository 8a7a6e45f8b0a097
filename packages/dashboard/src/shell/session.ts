import { currentAdministrator } from '../api/administrator.ts'
import { loadPart } from '../api/load-part.ts'
import type { getPasskey } from '../api/passkeys.ts'
import { queryClient } from '../api/queries.ts'
import { get, post, remove } from '../api/request.ts'
import { sessionState } from '../api/session-state.ts'
import { createStore } from '../api/store.ts'

export type Credential =
  | { readonly email?: string; readonly password: string }
  | { readonly code: string; readonly mfa_token?: string }
  | PasskeyCredential

type PasskeyCredential = Awaited<ReturnType<typeof getPasskey>> & { readonly mfa_token?: string }

/** Checks that the browser has a session. @throws BasaltError if the server is unavailable */
export async function checkSession(): Promise<void> {
  currentAdministrator.set(await get<'admin.session'>('admin/session'))
  sessionState.set('signed-in')
}

/** Signs in. A sign-in that needs a second factor then waits for {@link pendingToken}. */
export async function signIn(credential: Credential): Promise<void> {
  const result = await post<'admin.startSession'>('admin/session', credential)
  if ('mfa_pending' in result) {
    pendingToken.set(result.mfa_token)
    return
  }
  pendingToken.set(undefined)
  await checkSession()
  // Queries that failed without a session are refetched.
  await queryClient.invalidateQueries()
}

/** Token of the sign-in that waits for its second factor; undefined without one. */
export const pendingToken = createStore<string | undefined>(undefined)

/** Signs in with a passkey: alone, or as the second factor of the sign-in that waits. */
export async function signInWithPasskey(mfa_token?: string): Promise<void> {
  const token = mfa_token === undefined ? {} : { mfa_token }
  const challenge = await post<'administrators.requestPasskey'>('admin/auth/passkey', token)
  const passkeys = await loadPart(() => import('../api/passkeys.ts'))
  await signIn({ ...(await passkeys.getPasskey(challenge)), ...token })
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
