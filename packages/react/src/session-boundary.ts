'use client'
import type { Client } from '@basaltdb/client'
import type { Auth } from '@basaltdb/client/auth'
import type { QueryClient } from '@tanstack/react-query'
import { useEffect } from 'react'
import type { RegisteredDatabase } from './database.ts'
import { affectedBy } from './query-keys.ts'

/** Clears the data of a user as soon as another user, or no user, is signed in. */
export function useSessionBoundary(
  client: Client<RegisteredDatabase>,
  auth: Auth | undefined,
  queries: QueryClient,
): void {
  useEffect(() => {
    const { tokens } = client.transport
    let identity = tokens.identity?.()
    // Requests wait until the stored session is loaded, so loading it is not a change of user.
    let isLoaded = auth === undefined || identity !== undefined
    const unsubscribe = tokens.subscribe?.(() => {
      const next = tokens.identity?.()
      if (!isLoaded || next === identity) return
      identity = next
      forget(queries)
    })
    const loaded = () => {
      if (isLoaded) return
      isLoaded = true
      identity = tokens.identity?.()
    }
    auth?.load().then(loaded, loaded)
    return unsubscribe
  }, [client, auth, queries])
}

function forget(queries: QueryClient): void {
  const cache = queries.getQueryCache()
  for (const query of cache.findAll(affectedBy())) {
    void query.cancel({ silent: true })
    if (!query.isActive()) {
      cache.remove(query)
      continue
    }
    // `reset` would restore the data that the server rendered.
    query.setState({
      data: undefined,
      dataUpdatedAt: 0,
      error: null,
      status: 'pending',
      fetchStatus: 'idle',
      isInvalidated: true,
    })
  }
  void queries.refetchQueries({ ...affectedBy(), type: 'active' })
}
