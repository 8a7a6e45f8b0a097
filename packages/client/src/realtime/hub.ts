import { callEach } from '../listeners.ts'
import type { TokenSource, Transport } from '../transport.ts'
import type { Change, StreamEvent } from './event-source.ts'
import { createOwnStream } from './own-stream.ts'
import { isRefused, refusedTable } from './refused-table.ts'
import { canShare, createSharedStream } from './shared-stream.ts'

/** A listener to the stream of a page. */
export interface Subscriber {
  readonly tables: readonly string[]
  /** The stream is in force for its tables; `isGap` where changes since the last one may be missing. */
  readonly connected: (isGap: boolean) => void
  readonly change: (change: Change) => void
  readonly disconnected: (error: unknown) => void
  /** For good. */
  readonly failed: (error: unknown) => void
  /** Another user is signed in: what was received is not theirs. */
  readonly forget: () => void
}

/** One stream for all subscribers, over all tabs where the browser connects them. */
export interface Hub {
  /** @returns what ends the subscription */
  subscribe(subscriber: Subscriber): () => void
}

const hubs = new WeakMap<Transport, Hub>()

/** The one of this client. */
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

/** Where events come from: a stream of the page itself, or that of another tab. */
export interface Source {
  /** The tables to listen to, all of them; none closes it. */
  want(tables: readonly string[]): void
}

export type OnSourceEvent = (
  event: StreamEvent | { readonly type: 'failed'; readonly error: unknown },
) => void

export function createHub(
  createSource: (onEvent: OnSourceEvent) => Source,
  tokens: Pick<TokenSource, 'identity' | 'subscribe'>,
): Hub {
  const subscribers = new Set<Subscriber>()
  /** Tables that the stream is in force for. */
  let inForce: ReadonlySet<string> = new Set()
  let isConnected = false
  let wanted: readonly string[] = []
  let source: Source | undefined
  let identity: string | undefined
  let stopWatching: (() => void) | undefined

  function onEvent(event: Parameters<OnSourceEvent>[0]): void {
    switch (event.type) {
      case 'connected':
        inForce = new Set(wanted)
        isConnected = true
        callEach(subscribers, (each) => isServed(each) && each.connected(false))
        return
      case 'gap':
        callEach(subscribers, (each) => isServed(each) && each.connected(true))
        return
      case 'change':
        callEach(subscribers, (each) => each.tables.includes(event.change.table) && each.change(event.change))
        return
      case 'disconnected':
        isConnected = false
        callEach(subscribers, (each) => each.disconnected(event.error))
        return
      case 'failed': {
        inForce = new Set()
        wanted = []
        const refused = refusedTable(event.error)
        callEach(subscribers, (each) => {
          if (refused !== undefined && !each.tables.some((table) => isRefused(table, refused))) return
          if (refused !== undefined) subscribers.delete(each)
          each.failed(event.error)
        })
        // The others continue without it.
        if (refused !== undefined) rewant()
      }
    }
  }

  /** A stream of one user never continues for another. */
  function followIdentity(): void {
    if (tokens.identity?.() === identity) return
    close()
    callEach(subscribers, (each) => each.forget())
    rewant()
  }

  function close(): void {
    source?.want([])
    source = undefined
    stopWatching?.()
    stopWatching = undefined
    inForce = new Set()
    isConnected = false
    wanted = []
  }

  function open(): Source {
    identity = tokens.identity?.()
    stopWatching = tokens.subscribe?.(followIdentity)
    // An event of a source that was closed is of another user.
    const opened = createSource((event) => {
      if (source === opened) onEvent(event)
    })
    return opened
  }

  const isServed = ({ tables }: Subscriber) => tables.every((table) => inForce.has(table))

  let isScheduled = false
  /** Subscribers that begin and end in one moment change the stream once. */
  function rewant(): void {
    if (isScheduled) return
    isScheduled = true
    queueMicrotask(() => {
      isScheduled = false
      const tables = [...new Set([...subscribers].flatMap((each) => each.tables))].sort()
      if (tables.join('\n') === wanted.join('\n')) return
      if (tables.length === 0) return close()
      wanted = tables
      source ??= open()
      source.want(tables)
    })
  }

  return {
    subscribe(subscriber) {
      subscribers.add(subscriber)
      if (isConnected && isServed(subscriber))
        queueMicrotask(() => isConnected && subscribers.has(subscriber) && subscriber.connected(false))
      rewant()
      return () => {
        if (subscribers.delete(subscriber)) rewant()
      }
    },
  }
}
