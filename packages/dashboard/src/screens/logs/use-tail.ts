import { useQueryClient } from '@tanstack/react-query'
import { useEffect, useState } from 'react'
import { inSession } from '../../api/queries.ts'
import { followLogs, type LogEntry, type LogFilter } from './api.ts'

/** Maximum number of entries in the tail. The list has older ones. */
const keptEntries = 1000
/** Delay in which entries are collected before they are rendered together, in milliseconds. */
const drawMs = 200
const reconnectMs = 1000

export interface Tail {
  /** Entries, newest first. */
  readonly entries: readonly LogEntry[]
  readonly state: 'off' | 'connecting' | 'following'
}

const off: Tail = { entries: [], state: 'off' }

/** Follows the log while `isOn` is true. A lost connection resumes after the last entry. */
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
        // Entries written after the list was read and before the stream opened are in neither.
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
      // The page shows that the server is unavailable.
    }
    if (signal.aborted) return
    follower.onLost()
    await new Promise((resolve) => setTimeout(resolve, reconnectMs))
  }
}
