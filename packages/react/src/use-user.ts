'use client'
import { useSyncExternalStore } from 'react'
import { useBackend } from './context.ts'
import type { UserState } from './user-store.ts'

/** Who is signed in, in whichever tab that changes. */
export function useUser(): UserState {
  const { users } = useBackend()
  if (users === undefined) throw new Error('give <BasaltProvider> the auth of its client')
  return useSyncExternalStore(users.subscribe, users.read, users.readRendered)
}
