import { createStore } from './store.ts'

/**
 * `ended` is a session that was there while the page was in use: the page stays, with what was typed, behind a dialog
 * that signs in again.
 */
export type SessionState = 'checking' | 'signed-out' | 'signed-in' | 'ended'

export const sessionState = createStore<SessionState>('checking')

/** After an answer that says that there is no session. */
export function noteEndedSession(): void {
  if (sessionState.get() === 'signed-in') sessionState.set('ended')
}
