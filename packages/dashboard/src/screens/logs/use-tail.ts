import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { inSession } from '../../api/queries.ts'
import { followLogs, type LogEntry, type LogFilter } from './api.ts'

/** What a person can look through; older ones are in the list. */
const keptEntries = 1000
/** Entries that come together are drawn together. */
const drawMs = 200
const reconnectMs = 1000

export interface Tail {
  /** Newest first. */
  readonly entries: readonly LogEntry[]
  readonly state: 'off' | 'connecting' | 'following'
}

const off: Tail = { entries: [], state: 'off' }

/** The log as it is written, while `isOn`. A connection that ends is resumed where it was. */
export function useTail(filter: LogFilter, isOn: boolean): Tail {
  const [tail, setTail] = useState(off)
  const queries = useQueryClient()
  const key = JSON.stringify(filter)
  useEffect(() => {
    if (!isOn) {
      setTail(off)
      return
    }
    const aborter = new AbortController()
    let waiting: LogEntry[] = []
    const draw = () => {
      if (waiting.length === 0) return
      const newest = waiting.reverse()
      waiting = []
      setTail(({ entries }) => ({
        entries: [...newest, ...entries].slice(0, keptEntries),
        state: 'following',
      }))
    }
    const timer = setInterval(draw, drawMs)
    setTail({ entries: [], state: 'connecting' })
    const given = JSON.parse(key) as LogFilter
    void follow(given, aborter.signal, {
      onOpen() {
        setTail(({ entries }) => ({ entries, state: 'following' }))
        // What was written after the list was read and before this is in neither.
        void queries.invalidateQueries({ queryKey: ['logs'] })
      },
      onEntry: (entry) => waiting.push(entry),
      onLost: () => setTail(({ entries }) => ({ entries, state: 'connecting' })),
    })
    return () => {
      clearInterval(timer)
      aborter.abort()
    }
  }, [queries, key, isOn])
  return tail
}

interface Follower {
  onOpen(): void
  onEntry(entry: LogEntry): void
  onLost(): void
}

async function follow(filter: LogFilter, signal: AbortSignal, follower: Follower): Promise<void> {
  let position: string | undefined
  while (!signal.aborted) {
    try {
      await inSession(async () => {
        const { onOpen } = follower
        for await (const { entry, id } of followLogs(filter, { signal, lastEventId: position, onOpen })) {
          position = id
          follower.onEntry(entry)
        }
      }, signal)
    } catch {
      // The page says itself that the server is unavailable.
    }
    if (signal.aborted) return
    follower.onLost()
    await new Promise((resolve) => setTimeout(resolve, reconnectMs))
  }
}
