'use client'
import type { Auth } from '@basaltdb/client/auth'
import { useBackend } from './context.ts'

/**
 * Returns the auth object of the provider, with `signIn`, `signOut` and all other account methods.
 * @throws Error if the provider has no `auth`
 */
export function useAuth(): Auth {
  const { auth } = useBackend()
  if (auth === undefined) throw new Error('give <BasaltProvider> the auth of its client')
  return auth
}
