'use client'
import type { Client } from '@basaltdb/client'
import type { Auth, User } from '@basaltdb/client/auth'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { createElement, type ReactNode, useMemo, useState } from 'react'
import { BackendContext } from './context.ts'
import type { RegisteredDatabase } from './database.ts'
import { useSessionBoundary } from './session-boundary.ts'
import { createUserStore } from './user-store.ts'

export interface BasaltProviderProps {
  readonly client: Client<RegisteredDatabase>
  /** The one that the client has, for `useUser` and `useAuth`. */
  readonly auth?: Auth | undefined
  /** One of the application; of its own unless given. */
  readonly queryClient?: QueryClient | undefined
  /** The user that the server has rendered the page for; null: none. */
  readonly user?: User | null | undefined
  readonly children?: ReactNode
}

/** Gives the components below a backend, and a place to keep what they have read. */
export function BasaltProvider({
  client,
  auth,
  queryClient,
  user,
  children,
}: BasaltProviderProps): ReactNode {
  const [own] = useState(createQueryClient)
  const queries = queryClient ?? own
  // biome-ignore lint/correctness/useExhaustiveDependencies: the user of the page as it was rendered, once
  const backend = useMemo(
    () => ({ client, auth, users: auth && createUserStore(auth, user) }),
    [client, auth],
  )
  useSessionBoundary(client, auth, queries)
  return createElement(
    QueryClientProvider,
    { client: queries },
    createElement(BackendContext.Provider, { value: backend }, children),
  )
}

/** What the server has rendered, or another component has just read, is not read again. */
function createQueryClient(): QueryClient {
  return new QueryClient({ defaultOptions: { queries: { staleTime: 5000 } } })
}
