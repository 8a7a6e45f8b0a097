import { createClient } from '@basaltdb/client'
import { createAuth, localSession } from '@basaltdb/client/auth'
import type { Database } from '../types/database.ts'

declare module '@basaltdb/react' {
  interface Register {
    database: Database
  }
}

// A build reads the server's address from VITE_SERVER. During development, Vite forwards /api to the server.
const url: string = import.meta.env.VITE_SERVER ?? location.origin
export const auth = createAuth({ url, storage: localSession() })
export const client = createClient<Database>({ url, auth })
