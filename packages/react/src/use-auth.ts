'use client'
import type { Auth } from '@basaltdb/client/auth'
import { useBackend } from './context.ts'

/** The accounts of the provider: `signIn`, `signOut` and the rest. */
export function useAuth(): Auth {
  const { auth } = useBackend()
  if (auth === undefined) throw new Error('give <BasaltProvider> the auth of its client')
  return auth
}
