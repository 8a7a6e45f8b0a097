import { callEach } from '../listeners.ts'
import type { TokenSource, Transport } from '../transport.ts'
import type { Change, StreamEvent } from './event-source.ts'
import { createOwnStream } from './own-stream.ts'
import { isRefused, refusedTable } from './refused-table.ts'
import { canShare, createSharedStream } from './shared-stream.ts'

/** Subscriber to the stream of a client. */
export interface Subscriber {
  readonly tables: readonly string[]
  /** Called when the stream covers the tables. `isGap` is true if changes since the last connection may be missing. */
  readonly connected: (isGap: boolean) => void
  readonly change: (change: Change) => void
  readonly disconnected: (error: Error | undefined) => void
  /** Called when the stream has failed permanently. */
  readonly failed: (error: Error) => void
  /** Called when another user signs in. The data received so far belongs to the previous user. */
  readonly reset: () => void
}

/** Shares one stream among all subscribers, and among all tabs if the browser supports it. */
export interface Hub {
  /** Adds a subscriber and returns a function that removes it. */
  subscribe(subscriber: Subscriber): () => void
}

const hubs = new WeakMap<Transport, Hub>()

/** Returns the hub of a client. */
export function hubOf(transport: Transport): Hub {
  let hub = hubs.get(transport)
  if (hub === undefined) {
    hub = createHub((onEvent) => createSource(transport, onEvent), transport.tokens)
    hubs.set(transport, hub)
  }
  return hub
}

function createSource(transport: Transport, onEvent: OnSourceEvent): Source {
  const identity = transport.tokens.identity?.()
  return identity !== undefined && canShare()
    ? createSharedStream(transport, `basalt.stream ${transport.url} ${identity}`, onEvent)
    : createOwnStream(transport, onEvent)
}

/** Source of events: a stream of this page or of another tab. */
export interface Source {
  /** Sets the tables to follow. An empty list closes the source. */
  setTables(tables: readonly string[]): void
}

export type OnSourceEvent = (event: StreamEvent | { readonly type: 'failed'; readonly error: Error }) => void

export function createHub(
  createSource: (onEvent: OnSourceEvent) => Source,
  tokens: Pick<TokenSource, 'identity' | 'subscribe'>,
): Hub {
  const subscribers = new Set<Subscriber>()
  /** Tables that the stream covers. */
  let covered: ReadonlySet<string> = new Set()
  let isConnected = false
  let wanted: readonly string[] = []
  let source: Source | undefined
  let identity: string | undefined
  let stopWatching: (() => void) | undefined

  function onEvent(event: Parameters<OnSourceEvent>[0]): void {
    switch (event.type) {
      case 'connected':
        covered = new Set(wanted)
        isConnected = true
        callEach(subscribers, (each) => isCovered(each) && each.connected(false))
        return
      case 'gap':
        callEach(subscribers, (each) => isCovered(each) && each.connected(true))
        return
      case 'change':
        callEach(subscribers, (each) => each.tables.includes(event.change.table) && each.change(event.change))
        return
      case 'disconnected':
        isConnected = false
        callEach(subscribers, (each) => each.disconnected(event.error))
        return
      case 'failed': {
        covered = new Set()
        wanted = []
        const refused = refusedTable(event.error)
        callEach(subscribers, (each) => {
          if (refused !== undefined && !each.tables.some((table) => isRefused(table, refused))) return
          if (refused !== undefined) subscribers.delete(each)
          each.failed(event.error)
        })
        // The other subscribers continue without the refused table.
        if (refused !== undefined) updateSource()
      }
    }
  }

  /** Restarts the stream when another user signs in. A stream never continues for another user. */
  function followIdentity(): void {
    if (tokens.identity?.() === identity) return
    close()
    callEach(subscribers, (each) => each.reset())
    updateSource()
  }

  function close(): void {
    source?.setTables([])
    source = undefined
    stopWatching?.()
    stopWatching = undefined
    covered = new Set()
    isConnected = false
    wanted = []
  }

  function open(): Source {
    identity = tokens.identity?.()
    stopWatching = tokens.subscribe?.(followIdentity)
    // Events of a closed source belong to the previous user.
    const opened = createSource((event) => {
      if (source === opened) onEvent(event)
    })
    return opened
  }

  const isCovered = ({ tables }: Subscriber) => tables.every((table) => covered.has(table))

  let isScheduled = false
  /** Updates the tables of the source once for all subscriptions that change in the same task. */
  function updateSource(): void {
    if (isScheduled) return
    isScheduled = true
    queueMicrotask(() => {
      isScheduled = false
      const tables = [...new Set([...subscribers].flatMap((each) => each.tables))].sort()
      if (tables.join('\n') === wanted.join('\n')) return
      if (tables.length === 0) return close()
      wanted = tables
      source ??= open()
      source.setTables(tables)
    })
  }

  return {
    subscribe(subscriber) {
      subscribers.add(subscriber)
      if (isConnected && isCovered(subscriber))
        queueMicrotask(() => isConnected && subscribers.has(subscriber) && subscriber.connected(false))
      updateSource()
      return () => {
        if (subscribers.delete(subscriber)) updateSource()
      }
    },
  }
}
