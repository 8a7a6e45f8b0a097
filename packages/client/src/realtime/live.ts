import type { Client } from '../client.ts'
import type { AnyQuery, ListQuery, PageQuery } from '../collection.ts'
import type { AnyDatabase, ColumnOf, ExpandOf, NoExpand, RecordOf, TableName } from '../database-types.ts'
import { isBasaltError } from '../errors.ts'
import { callEach } from '../listeners.ts'
import { isPassing } from '../retry.ts'
import type { Change } from './event-source.ts'
import { hubOf } from './hub.ts'
import { pauseBeforeAttempt } from './reconnect.ts'

/** What a live list shows now. The same object until something changes. */
export interface LiveState<Item> {
  readonly items: readonly Item[]
  /** Of all that the filter finds, shown or not. */
  readonly totalItems: number
  /** `stale`: the connection is broken or the list cannot be read now; both are tried again by themselves. */
  readonly status: 'loading' | 'live' | 'stale' | 'failed'
  /** Why it failed, is stale, or is loading for longer than it should. */
  readonly error: unknown
}

/** A list that stays as it is in the database while it has subscribers. */
export interface LiveList<Item> {
  readonly state: LiveState<Item>
  /** Begins with the first subscriber and ends with the last. */
  subscribe(listener: (state: LiveState<Item>) => void): () => void
  /** Reads the list again. */
  refresh(): void
}

export type LiveQuery<DB extends AnyDatabase, T extends TableName<DB>, Fields, Expand> = ListQuery<
  DB,
  T,
  Fields,
  Expand
> &
  Omit<PageQuery, 'cursor'> & {
    /** Tables whose changes may change the list, too: those of `expand` and of relations in the filter. */
    readonly also?: readonly TableName<DB>[] | undefined
  }

/** Changes that come together are read once. */
const gatherMs = 20

/**
 * A list that follows its table. The stream is opened first and the list read then, so nothing falls in between; what a
 * change means for filter, sort and policies the server decides, which is asked again.
 */
export function live<
  DB extends AnyDatabase,
  T extends TableName<DB>,
  const F extends readonly ColumnOf<DB, T>[] | undefined = undefined,
  const E extends ExpandOf<DB, T> = NoExpand,
>(
  client: Client<DB>,
  table: T,
  { also = [], ...query }: LiveQuery<DB, T, F, E> = {},
): LiveList<RecordOf<DB, T, F, E>> {
  type Item = RecordOf<DB, T, F, E>
  const collection = client.from(table)
  const listeners = new Set<(state: LiveState<Item>) => void>()
  const empty: LiveState<Item> = { items: [], totalItems: 0, status: 'loading', error: undefined }
  let state = empty
  /** The user that the items were read as. */
  let identity: string | undefined
  /** Whether no other record of the table shows in the list, by `expand` or relations in a condition. */
  const isPlain = query.expand === undefined && Object.getPrototypeOf(query.filter ?? {}) === Object.prototype
  let running: { readonly controller: AbortController; readonly unsubscribe: () => void } | undefined
  let isConnected = false
  /** Whether the stream has been in force: what was read before may lack what was written until then. */
  let hasBegun = false
  let isLoaded = false
  let isReading = false
  let isStale = false

  function change(next: Partial<LiveState<Item>>): void {
    state = { ...state, ...next }
    callEach(listeners, (listener) => listener(state))
  }

  /** Until it is in force again. */
  const suspend = (error: unknown) => change({ status: isLoaded ? 'stale' : 'loading', error })

  /** Reads until no change has come meanwhile. */
  async function read(signal: AbortSignal): Promise<void> {
    isStale = true
    if (isReading) return
    isReading = true
    let failures = 0
    try {
      while (isStale) {
        const reader = identity
        await new Promise((resolve) => setTimeout(resolve, gatherMs))
        if (signal.aborted) return
        isStale = false
        const page = await collection
          .list({ perPage: 100, ...query } as AnyQuery as typeof query, { signal })
          .catch((error: unknown) => {
            if (reader !== identity) return undefined
            if (!isBasaltError(error) || !isPassing(error)) throw error
            return { error }
          })
        if (page === undefined || reader !== identity) {
          // Where the stream of the new user is not in force yet, its beginning causes the next read.
          isStale = isConnected
          continue
        }
        if ('error' in page) {
          if (signal.aborted) return
          isStale = true
          suspend(page.error)
          failures = await pauseBeforeAttempt(failures + 1, signal, page.error.retryAfterSeconds)
          continue
        }
        failures = 0
        isLoaded = true
        change({
          // Typed by the query as it was given.
          items: page.items as unknown as Item[],
          totalItems: page.totalItems,
          status: isConnected ? 'live' : 'stale',
          error: undefined,
        })
      }
    } catch (error) {
      if (signal.aborted) return
      // What it shows is no longer what there is.
      isLoaded = false
      change({ status: 'failed', error })
    } finally {
      isReading = false
    }
    // One that was begun by another run of the list, which ended meanwhile.
    if (running !== undefined && running.controller.signal !== signal) void read(running.controller.signal)
  }

  /** What a delete leaves needs no question; anything else does. */
  function take({ action, table: changed, record }: Change, signal: AbortSignal): void {
    const key = Object.entries(record)
    const isOwnDelete = isPlain && action === 'delete' && changed === table && key.length > 0
    if (isOwnDelete && isLoaded && !isReading && state.items.every((item) => hasColumns(item, key))) {
      const items = state.items.filter((item) => !hasKey(item, key))
      if (items.length === state.items.length && state.totalItems <= items.length) return
      if (state.totalItems === state.items.length) {
        change({ items, totalItems: items.length })
        return
      }
    }
    void read(signal)
  }

  function start(): void {
    const controller = new AbortController()
    const { signal } = controller
    const { tokens } = client.transport
    isLoaded = false
    hasBegun = false
    state = tokens.identity?.() === identity ? { ...state, status: 'loading', error: undefined } : empty
    identity = tokens.identity?.()
    const unsubscribe = hubOf(client.transport).subscribe({
      tables: [table, ...also],
      connected(isGap) {
        const isCurrent = hasBegun && isLoaded && !isGap
        isConnected = true
        hasBegun = true
        if (!isCurrent) void read(signal)
        else change({ status: 'live', error: undefined })
      },
      change: (each) => take(each, signal),
      disconnected(error) {
        isConnected = false
        suspend(error)
      },
      failed(error) {
        isConnected = false
        change({ status: 'failed', error })
      },
      forget() {
        isConnected = false
        hasBegun = false
        isLoaded = false
        isStale = false
        identity = tokens.identity?.()
        change(empty)
      },
    })
    running = { controller, unsubscribe }
  }

  function stop(): void {
    running?.controller.abort()
    running?.unsubscribe()
    running = undefined
    isConnected = false
  }

  return {
    get state() {
      return state
    },
    subscribe(listener) {
      // The same function may subscribe twice.
      const own = (next: LiveState<Item>) => listener(next)
      listeners.add(own)
      if (running === undefined) start()
      return () => {
        if (listeners.delete(own) && listeners.size === 0) stop()
      }
    },
    refresh() {
      if (running !== undefined) void read(running.controller.signal)
    },
  }
}

type Columns = readonly (readonly [name: string, value: unknown])[]

function hasColumns(item: unknown, key: Columns): boolean {
  return key.every(([name]) => Object.hasOwn(item as object, name))
}

/** The values of a delete are texts. */
function hasKey(item: unknown, key: Columns): boolean {
  return key.every(([name, value]) => String((item as Record<string, unknown>)[name]) === String(value))
}
