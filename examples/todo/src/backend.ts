import { createClient } from '@basaltdb/client'
import { createAuth, localSession } from '@basaltdb/client/auth'
import type { Database } from '../types/database.ts'

declare module '@basaltdb/react' {
  interface Register {
    database: Database
  }
}

// Vite passes /api on to the server.
const url = location.origin
export const auth = createAuth({ url, storage: localSession() })
export const client = createClient<Database>({ url, auth })
