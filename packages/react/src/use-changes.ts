import { subscribe } from '@basaltdb/client/realtime'
import { hashKey, useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import type { Table } from './database.ts'
import { useClient } from './use-client.ts'

/** Status of the stream, in the result of a hook that reads again after changes. */
export interface StreamStatus {
  /** Error because of which changes of the tables are not followed. */
  readonly streamError: Error | undefined
}

/** Delay before a request, so that changes that arrive together cause one request. */
const readDelayMs = 20

/** Invalidates the query after changes of the tables. @returns the error because of which they are not followed */
export function useChanges(
  tables: readonly Table[] = [],
  queryKey: readonly unknown[],
  isEnabled: boolean,
): Error | undefined {
  const client = useClient()
  const queries = useQueryClient()
  const [failure, setFailure] = useState<Error>()
  const hash = hashKey(queryKey)
  // biome-ignore lint/correctness/useExhaustiveDependencies: the hash stands for the key, which contains the tables
  useEffect(() => {
    setFailure(undefined)
    if (tables.length === 0 || !isEnabled) return
    let timer: ReturnType<typeof setTimeout> | undefined
    const invalidate = () => {
      timer ??= setTimeout(() => {
        timer = undefined
        void queries.invalidateQueries({ queryKey, exact: true })
      }, readDelayMs)
    }
    const unsubscribe = subscribe(client, tables, {
      onChange: invalidate,
      // The result may be from before the stream was open.
      onConnected: invalidate,
      onFailed: setFailure,
    })
    return () => {
      clearTimeout(timer)
      unsubscribe()
    }
  }, [client, queries, hash, isEnabled])
  return failure
}
