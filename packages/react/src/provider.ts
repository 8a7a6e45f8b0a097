'use client'
import type { Client } from '@basaltdb/client'
import type { Auth, User } from '@basaltdb/client/auth'
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { createElement, type ReactNode, useMemo, useState } from 'react'
import { BackendContext } from './context.ts'
import type { RegisteredDatabase } from './database.ts'
import { useSessionBoundary } from './session-boundary.ts'
import { createUserStore } from './user-store.ts'

/** Properties of {@link BasaltProvider}. */
export interface BasaltProviderProps {
  readonly client: Client<RegisteredDatabase>
  /** Auth object of the client. `useUser` and `useAuth` require it. */
  readonly auth?: Auth | undefined
  /** Query client of the application; a new one unless set. The new one treats data as fresh for 5 seconds. */
  readonly queryClient?: QueryClient | undefined
  /** User for whom the server rendered the page, or null if no user is signed in. */
  readonly user?: User | null | undefined
  readonly children?: ReactNode
}

/** Provides the components below with a backend and a query cache. The cache is cleared when another user signs in. */
export function BasaltProvider({
  client,
  auth,
  queryClient,
  user,
  children,
}: BasaltProviderProps): ReactNode {
  const [own] = useState(createQueryClient)
  const queries = queryClient ?? own
  // biome-ignore lint/correctness/useExhaustiveDependencies: the user of the rendered page is read once
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

/** Creates a query client that does not refetch data at once that the server rendered or another component has just read. */
function createQueryClient(): QueryClient {
  return new QueryClient({ defaultOptions: { queries: { staleTime: 5000 } } })
}
