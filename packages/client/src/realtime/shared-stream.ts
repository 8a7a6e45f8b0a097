import { BasaltError, type ErrorDetail } from '../errors.ts'
import { randomId } from '../random-id.ts'
import type { Transport } from '../transport.ts'
import type { OnSourceEvent, Source } from './hub.ts'
import { createOwnStream } from './own-stream.ts'
import { isRefused, refusedTable } from './refused-table.ts'

/**
 * Shares one stream among all tabs of a user. The tab that holds the lock (the leader) opens the stream and broadcasts its events. When
 * that tab is closed, the browser grants the lock to another tab. That tab resumes after the last event that it received.
 */

export function canShare(): boolean {
  return globalThis.navigator?.locks !== undefined && typeof BroadcastChannel === 'function'
}

type SourceEvent = Parameters<OnSourceEvent>[0]

/** Members of an error, which loses its class between tabs. Those beside the message are of a {@link BasaltError}. */
type ErrorMembers = { readonly message: string } & Partial<ErrorDetail>

/** Event as it is sent to other tabs. */
type TabEvent =
  | Extract<SourceEvent, { readonly id: string }>
  | { readonly type: 'failed'; readonly error: ErrorMembers }
  | { readonly type: 'disconnected'; readonly error: ErrorMembers | undefined }

/** Message between tabs. */
type Message =
  /** Request of a new leader for the tables of all tabs. */
  | { readonly type: 'leads' }
  /** Tables of a tab, sent to the leader. */
  | { readonly type: 'wants'; readonly tab: string; readonly tables: readonly string[] }
  /** Marker that a tab sends to itself: all earlier messages have arrived. */
  | { readonly type: 'arrived'; readonly tab: string }
  /** Event that the leader passes on. @property tables tables that the stream covers */
  | { readonly type: 'event'; readonly event: TabEvent; readonly tables: readonly string[] }

/** Creates the stream of a tab. @param name channel name, which differs for each user */
export function createSharedStream(transport: Transport, name: string, onEvent: OnSourceEvent): Source {
  const tab = randomId()
  const tabLock = (id: string) => `${name} tab ${id}`
  let wanted: readonly string[] = []
  let lastEventId: string | undefined
  let connection: { readonly channel: BroadcastChannel; readonly closing: AbortController } | undefined
  let own: Source | undefined
  /** Stream of the leader. */
  let stream: Source | undefined
  let onArrival: (() => void) | undefined
  const tablesByTab = new Map<string, readonly string[]>()

  const union = () => [...new Set([...tablesByTab.values()].flat())].sort()

  function receive(event: SourceEvent, tables: readonly string[]): void {
    if (event.type === 'connected' || event.type === 'change' || event.type === 'gap') lastEventId = event.id
    // The stream was reopened for another tab and does not cover the tables of this tab yet.
    if (event.type === 'connected' && !wanted.every((table) => tables.includes(table))) return
    onEvent(event)
  }

  function receiveMessage(message: Message): void {
    if (message.type === 'event') receive(reviveEvent(message.event), message.tables)
    else if (message.type === 'leads') announce()
    else if (message.type === 'wants') setTabTables(message.tab, message.tables)
    else if (message.tab === tab) onArrival?.()
  }

  function announce(): void {
    connection?.channel.postMessage({ type: 'wants', tab, tables: wanted } satisfies Message)
  }

  /** Stores the tables of a tab. Only the leader stores them. */
  function setTabTables(id: string, tables: readonly string[]): void {
    if (stream === undefined) return
    const isNew = !tablesByTab.has(id)
    if (tables.length === 0) tablesByTab.delete(id)
    else tablesByTab.set(id, tables)
    stream.setTables(union())
    // A tab holds its lock as long as it lives, however it ends.
    if (isNew && id !== tab && tables.length > 0) {
      void navigator.locks
        .request(tabLock(id), { signal: closingSignal() }, () => setTabTables(id, []))
        .catch(ignoreAbort)
    }
  }

  /** Removes a refused table as the leader. Otherwise a suspended tab would cause the same refusal again and again. */
  function forgetTable(refused: string | undefined): void {
    if (refused === undefined) return
    for (const [id, tables] of tablesByTab) {
      tablesByTab.set(
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
        channel.postMessage({ type: 'event', event: describeEvent(event), tables } satisfies Message)
        receive(event, tables)
      },
      lastEventId,
    )
    setTabTables(tab, wanted)
    channel.postMessage({ type: 'leads' } satisfies Message)
  }

  /**
   * Waits until all events of the previous leader have arrived. If the stream resumed earlier, all tabs would receive them
   * twice.
   */
  function drainEvents(closing: AbortSignal): Promise<void> {
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
        await drainEvents(closing.signal)
        if (closing.signal.aborted) return
        lead(channel)
        await untilClosed()
      })
      .catch((error: unknown) => {
        if (!closing.signal.aborted) isolate(error)
      })
  }

  /** Opens a separate stream for this tab if locks are denied, as they are to frames without an origin. */
  function isolate(error: unknown): void {
    if (!(error instanceof DOMException)) throw error
    leave()
    own = createOwnStream(transport, onEvent, lastEventId)
    own.setTables(wanted)
  }

  function leave(): void {
    announce()
    stream?.setTables([])
    stream = undefined
    tablesByTab.clear()
    connection?.closing.abort()
    connection?.channel.close()
    connection = undefined
  }

  return {
    setTables(tables) {
      wanted = tables
      if (own !== undefined) return own.setTables(tables)
      if (tables.length === 0) return leave()
      if (connection === undefined) join()
      else if (stream !== undefined) setTabTables(tab, tables)
      // Only the leader reads the message. If there is none, the next leader requests it.
      if (stream === undefined) announce()
    },
  }
}

function ignoreAbort(error: unknown): void {
  if (!(error instanceof DOMException && error.name === 'AbortError')) throw error
}

function describeEvent(event: SourceEvent): TabEvent {
  if (event.type === 'failed') return { ...event, error: membersOf(event.error) }
  if (event.type === 'disconnected') return { ...event, error: event.error && membersOf(event.error) }
  return event
}

function reviveEvent(event: TabEvent): SourceEvent {
  if (event.type === 'failed') return { ...event, error: reviveError(event.error) }
  if (event.type === 'disconnected') return { ...event, error: event.error && reviveError(event.error) }
  return event
}

function membersOf(error: Error): ErrorMembers {
  if (!(error instanceof BasaltError)) return { message: error.message }
  return { message: error.message, error: error.error, status: error.status, data: error.data }
}

function reviveError({ message, error, status = 0, data }: ErrorMembers): Error {
  return error === undefined ? new Error(message) : new BasaltError(message, { error, status, data })
}
