import type { Auth, User } from '@basaltdb/client/auth'

/** Who is signed in: `loading` until the stored session was read. */
export type UserState =
  | { readonly status: 'loading'; readonly user: undefined }
  | { readonly status: 'signed_in'; readonly user: User }
  | { readonly status: 'signed_out'; readonly user: undefined }

/** What `useSyncExternalStore` reads. */
export interface UserStore {
  readonly subscribe: (listener: () => void) => () => void
  /** The same object until it changes. */
  readonly read: () => UserState
  /** On the server, and in the browser while it takes over what the server has rendered. */
  readonly readRendered: () => UserState
}

const loading: UserState = { status: 'loading', user: undefined }
const signedOut: UserState = { status: 'signed_out', user: undefined }

/** @param rendered the user that the server has rendered the page for; null: none */
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
