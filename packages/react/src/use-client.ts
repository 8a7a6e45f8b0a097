'use client'
import type { Client } from '@basaltdb/client'
import { useBackend } from './context.ts'
import type { RegisteredDatabase } from './database.ts'

/** Returns the client of the provider, for everything without a hook. */
export function useClient(): Client<RegisteredDatabase> {
  return useBackend().client
}
