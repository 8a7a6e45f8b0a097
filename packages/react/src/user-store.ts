import type { Auth, User } from '@basaltdb/client/auth'

/** State of the signed-in user: `loading` until the stored session is read. */
export type UserState =
  | { readonly status: 'loading'; readonly user: undefined }
  | { readonly status: 'signed_in'; readonly user: User }
  | { readonly status: 'signed_out'; readonly user: undefined }

/** Store of the user state, for `useSyncExternalStore`. */
export interface UserStore {
  readonly subscribe: (listener: () => void) => () => void
  /** Returns the current state: the same object until it changes. */
  readonly read: () => UserState
  /** Returns the state on the server, and in the browser during hydration. */
  readonly readRendered: () => UserState
}

const loading: UserState = { status: 'loading', user: undefined }
const signedOut: UserState = { status: 'signed_out', user: undefined }

/** Creates the store. @param rendered user for whom the server rendered the page, or null for no user */
export function createUserStore(auth: Auth, rendered: User | null | undefined): UserStore {
  const initial = rendered === undefined ? loading : stateOf(rendered ?? undefined)
  let state = auth.current === undefined ? initial : stateOf(auth.current.user)

  function update(): boolean {
    const user = auth.current?.user
    if (state.status !== 'loading' && state.user?.id === user?.id && state.user === user) return false
    state = stateOf(user)
    return true
  }

  return {
    read: () => state,
    readRendered: () => initial,
    subscribe(listener) {
      let isOpen = true
      const notify = () => {
        if (isOpen && update()) listener()
      }
      const unsubscribe = auth.subscribe(notify)
      // A storage that cannot be read holds no session.
      auth.load().then(notify, notify)
      return () => {
        isOpen = false
        unsubscribe()
      }
    },
  }
}

function stateOf(user: User | undefined): UserState {
  return user === undefined ? signedOut : { status: 'signed_in', user }
}
