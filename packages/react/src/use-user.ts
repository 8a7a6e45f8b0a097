'use client'
import { useSyncExternalStore } from 'react'
import { useBackend } from './context.ts'
import type { UserState } from './user-store.ts'

/**
 * Returns the signed-in user, and follows sign-ins and sign-outs in all tabs.
 * @throws Error if the provider has no `auth`
 */
export function useUser(): UserState {
  const { users } = useBackend()
  if (users === undefined) throw new Error('give <BasaltProvider> the auth of its client')
  return useSyncExternalStore(users.subscribe, users.read, users.readRendered)
}
