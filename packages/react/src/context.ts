'use client'
import type { Client } from '@basaltdb/client'
import type { Auth } from '@basaltdb/client/auth'
import { createContext, useContext } from 'react'
import type { RegisteredDatabase } from './database.ts'
import type { UserStore } from './user-store.ts'

/** Backend of a component tree. */
export interface Backend {
  readonly client: Client<RegisteredDatabase>
  readonly auth: Auth | undefined
  readonly users: UserStore | undefined
}

export const BackendContext = createContext<Backend | undefined>(undefined)

/** Returns the backend of the nearest provider. @throws Error without a `<BasaltProvider>` above the component */
export function useBackend(): Backend {
  const backend = useContext(BackendContext)
  if (backend === undefined) throw new Error('there is no <BasaltProvider> above this component')
  return backend
}
