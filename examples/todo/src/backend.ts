import { createClient } from '@basaltdb/client'
import { createAuth, localSession } from '@basaltdb/client/auth'
import type { Database } from '../types/database.ts'

declare module '@basaltdb/react' {
  interface Register {
    database: Database
  }
}

// A build takes the server's address from VITE_SERVER; while developing, Vite passes /api on to it.
const url: string = import.meta.env.VITE_SERVER ?? location.origin
export const auth = createAuth({ url, storage: localSession() })
export const client = createClient<Database>({ url, auth })
