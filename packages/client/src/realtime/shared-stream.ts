import { BasaltError, type ErrorDetail } from '../errors.ts'
import { randomId } from '../random-id.ts'
import type { Transport } from '../transport.ts'
import type { OnSourceEvent, Source } from './hub.ts'
import { createOwnStream } from './own-stream.ts'
import { isRefused, refusedTable } from './refused-table.ts'

/**
 * One stream for all tabs of a user: the tab that has the lock opens it and broadcasts its events. When that tab is
 * closed, the browser gives the lock to another one, which resumes after the last event that it has been sent.
 */

export function canShare(): boolean {
  return globalThis.navigator?.locks !== undefined && typeof BroadcastChannel === 'function'
}

type SourceEvent = Parameters<OnSourceEvent>[0]

type Message =
  /** To all: the leader asks for their tables. */
  | { readonly type: 'leads' }
  | { readonly type: 'wants'; readonly tab: string; readonly tables: readonly string[] }
  /** To itself: whatever others have sent before has arrived. */
  | { readonly type: 'arrived'; readonly tab: string }
  /** From the leader. @property tables those that the stream is in force for */
  | { readonly type: 'event'; readonly event: SourceEvent; readonly tables: readonly string[] }

/** @param name of the user's stream: no other user has it */
export function createSharedStream(transport: Transport, name: string, onEvent: OnSourceEvent): Source {
  const tab = randomId()
  const tabLock = (id: string) => `${name} tab ${id}`
  let wanted: readonly string[] = []
  let lastEventId: string | undefined
  let connection: { readonly channel: BroadcastChannel; readonly closing: AbortController } | undefined
  let own: Source | undefined
  /** Of the leader. */
  let stream: Source | undefined
  let onArrival: (() => void) | undefined
  const wantedByTab = new Map<string, readonly string[]>()

  const union = () => [...new Set([...wantedByTab.values()].flat())].sort()

  function receive(event: SourceEvent, tables: readonly string[]): void {
    if (event.type === 'connected' || event.type === 'change' || event.type === 'gap') lastEventId = event.id
    // Another tab has asked for more tables, and this one's are not among them yet.
    if (event.type === 'connected' && !wanted.every((table) => tables.includes(table))) return
    onEvent(event.type === 'failed' ? { ...event, error: reviveError(event.error) } : event)
  }

  function receiveMessage(message: Message): void {
    if (message.type === 'event') receive(message.event, message.tables)
    else if (message.type === 'leads') announce()
    else if (message.type === 'wants') note(message.tab, message.tables)
    else if (message.tab === tab) onArrival?.()
  }

  function announce(): void {
    connection?.channel.postMessage({ type: 'wants', tab, tables: wanted } satisfies Message)
  }

  /** What a tab wants, which the leader alone keeps. */
  function note(id: string, tables: readonly string[]): void {
    if (stream === undefined) return
    const isNew = !wantedByTab.has(id)
    if (tables.length === 0) wantedByTab.delete(id)
    else wantedByTab.set(id, tables)
    stream.want(union())
    // A tab holds its lock as long as it lives, however it ends.
    if (isNew && id !== tab && tables.length > 0) {
      void navigator.locks
        .request(tabLock(id), { signal: closingSignal() }, () => note(id, []))
        .catch(ignoreAbort)
    }
  }

  /** As the leader: a tab that sleeps would ask for it again and again. */
  function forgetTable(refused: string | undefined): void {
    if (refused === undefined) return
    for (const [id, tables] of wantedByTab) {
      wantedByTab.set(
        id,
        tables.filter((table) => !isRefused(table, refused)),
      )
    }
  }

  function lead(channel: BroadcastChannel): void {
    stream = createOwnStream(
      transport,
      (event) => {
        if (event.type === 'failed') forgetTable(refusedTable(event.error))
        const tables = union()
        const sent =
          event.type === 'failed' || event.type === 'disconnected'
            ? { ...event, error: describeError(event.error) }
            : event
        channel.postMessage({ type: 'event', event: sent, tables } satisfies Message)
        receive(event, tables)
      },
      lastEventId,
    )
    note(tab, wanted)
    channel.postMessage({ type: 'leads' } satisfies Message)
  }

  /** Resolves when the events of the leader before have arrived: resumed before them, all tabs would have them twice. */
  function settle(closing: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      onArrival = resolve
      closing.addEventListener('abort', () => resolve(), { once: true })
      const self = new BroadcastChannel(name)
      self.postMessage({ type: 'arrived', tab } satisfies Message)
      self.close()
    })
  }

  function closingSignal(): AbortSignal {
    return connection?.closing.signal ?? AbortSignal.abort()
  }

  function join(): void {
    const channel = new BroadcastChannel(name)
    const closing = new AbortController()
    connection = { channel, closing }
    channel.onmessage = ({ data }: MessageEvent<Message>) => receiveMessage(data)
    const untilClosed = () =>
      new Promise<void>((resolve) =>
        closing.signal.addEventListener('abort', () => resolve(), { once: true }),
      )
    navigator.locks.request(tabLock(tab), untilClosed).catch(() => undefined)
    navigator.locks
      .request(name, { signal: closing.signal }, async () => {
        if (closing.signal.aborted) return
        await settle(closing.signal)
        if (closing.signal.aborted) return
        lead(channel)
        await untilClosed()
      })
      .catch((error: unknown) => {
        if (!closing.signal.aborted) isolate(error)
      })
  }

  /** Where locks are denied, as to frames without an origin, each tab has a stream of its own. */
  function isolate(error: unknown): void {
    if (!(error instanceof DOMException)) throw error
    leave()
    own = createOwnStream(transport, onEvent, lastEventId)
    own.want(wanted)
  }

  function leave(): void {
    announce()
    stream?.want([])
    stream = undefined
    wantedByTab.clear()
    connection?.closing.abort()
    connection?.channel.close()
    connection = undefined
  }

  return {
    want(tables) {
      wanted = tables
      if (own !== undefined) return own.want(tables)
      if (tables.length === 0) return leave()
      if (connection === undefined) join()
      else if (stream !== undefined) note(tab, tables)
      // Only the leader reads it; while there is none the next one asks.
      if (stream === undefined) announce()
    },
  }
}

function ignoreAbort(error: unknown): void {
  if (!(error instanceof DOMException && error.name === 'AbortError')) throw error
}

/** Errors lose their class on the way to another tab. */
function describeError(error: unknown): unknown {
  if (!(error instanceof BasaltError)) return error instanceof Error ? error.message : undefined
  return { message: error.message, error: error.error, status: error.status, data: error.data }
}

function reviveError(value: unknown): unknown {
  if (value instanceof BasaltError || typeof value !== 'object' || value === null) return value
  const { message, ...detail } = value as ErrorDetail & { message: string }
  return new BasaltError(message, detail)
}
