import { createStore } from './store.ts'

/**
 * State of the session. `ended` means that the session ended while the page was in use. The page keeps its input and shows a
 * sign-in dialog.
 */
export type SessionState = 'checking' | 'signed-out' | 'signed-in' | 'ended'

export const sessionState = createStore<SessionState>('checking')

/** Marks the session as ended after a response without a session. */
export function markSessionEnded(): void {
  if (sessionState.get() === 'signed-in') sessionState.set('ended')
}
