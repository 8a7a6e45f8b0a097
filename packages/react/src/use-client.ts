'use client'
import type { Client } from '@basaltdb/client'
import { useBackend } from './context.ts'
import type { RegisteredDatabase } from './database.ts'

/** The client of the provider, for what has no hook. */
export function useClient(): Client<RegisteredDatabase> {
  return useBackend().client
}
