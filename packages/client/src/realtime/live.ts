import type { Client } from '../client.ts'
import type { AnyDatabase, ColumnOf, ExpandOf, NoExpand, RecordOf, TableName } from '../database-types.ts'
import { isBasaltError, toError } from '../errors.ts'
import type { AnyQuery, ListQuery, PageQuery } from '../list-query.ts'
import { callEach } from '../listeners.ts'
import { isRetryable } from '../retry.ts'
import type { Change } from './event-source.ts'
import { hubOf } from './hub.ts'
import { pauseBeforeAttempt } from './reconnect.ts'

/** State of a live list. The same object until something changes. */
export interface LiveState<Item> {
  /** Records of the page. */
  readonly items: readonly Item[]
  /** Number of all matching records, on this page or not. */
  readonly totalItems: number
  /**
   * Status of the list. `stale` means that the connection is broken or the list cannot be read now. Both are retried
   * automatically.
   */
  readonly status: 'loading' | 'live' | 'stale' | 'failed'
  /** Error that made the list fail, become stale or take long to load. */
  readonly error: Error | undefined
}

/** List that follows the database while it has subscribers. */
export interface LiveList<Item> {
  /** Current state. */
  readonly state: LiveState<Item>
  /**
   * Calls the listener after each change. The list starts with the first subscriber and stops with the last.
   * @returns a function that removes the listener
   */
  subscribe(listener: (state: LiveState<Item>) => void): () => void
  /** Reads the list again. */
  refresh(): void
}

/** Query of a live list: one page of records, 100 unless `perPage` is set. */
export type LiveQuery<DB extends AnyDatabase, T extends TableName<DB>, Fields, Expand> = ListQuery<
  DB,
  T,
  Fields,
  Expand
> &
  Omit<PageQuery, 'cursor'> & {
    /** Tables whose changes may affect the list, too: those of `expand`, and of relations in `filter` and `sort`. */
    readonly also?: readonly TableName<DB>[] | undefined
  }

/** Delay before a read, so that changes that arrive together cause one read. */
const readDelayMs = 20

/**
 * Creates a list that follows its table. It opens the stream before it reads the list, so no change is missed in between. After
 * a change the list is read again, because the server applies filter, sort and policies.
 *
 * @throws BasaltError as the `error` of the state, not from this function
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
  /** User whose permissions applied when the items were read. */
  let identity: string | undefined
  /** True if the list contains no other record of the table, through `expand` or relations in a condition. */
  const isPlain = query.expand === undefined && Object.getPrototypeOf(query.filter ?? {}) === Object.prototype
  let running: { readonly controller: AbortController; readonly unsubscribe: () => void } | undefined
  let isConnected = false
  /** True if the stream was open before. Items read before that may lack writes of the time between. */
  let wasOpen = false
  let isLoaded = false
  let isReading = false
  let isStale = false

  function change(next: Partial<LiveState<Item>>): void {
    state = { ...state, ...next }
    callEach(listeners, (listener) => listener(state))
  }

  /** Marks the list as stale until the stream is open again. */
  const suspend = (error: Error | undefined) => change({ status: isLoaded ? 'stale' : 'loading', error })

  /** Reads the list until no change arrives during a read. */
  async function read(signal: AbortSignal): Promise<void> {
    isStale = true
    if (isReading) return
    isReading = true
    let failures = 0
    try {
      while (isStale) {
        const reader = identity
        await new Promise((resolve) => setTimeout(resolve, readDelayMs))
        if (signal.aborted) return
        isStale = false
        const page = await collection
          // An event arrives before a replica has its change.
          .list({ perPage: 100, ...query } as AnyQuery as typeof query, {
            signal,
            consistency: 'strong',
            // The state shows a failure early. Further attempts follow below.
            retryForMs: 2000,
          })
          .catch((error: unknown) => {
            if (reader !== identity) return undefined
            if (!isBasaltError(error) || !isRetryable(error)) throw error
            return { error }
          })
        if (page === undefined || reader !== identity) {
          // If the stream of the new user is not open yet, its start causes the next read.
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
          // The type follows from the query.
          items: page.items as unknown as Item[],
          totalItems: page.totalItems,
          status: isConnected ? 'live' : 'stale',
          error: undefined,
        })
      }
    } catch (error) {
      if (signal.aborted) return
      // The items may be out of date.
      isLoaded = false
      change({ status: 'failed', error: toError(error) })
    } finally {
      isReading = false
    }
    // Another run of the list started a read before this run ended.
    if (running !== undefined && running.controller.signal !== signal) void read(running.controller.signal)
  }

  /** Applies a change. A delete is applied to the items directly if that is enough. Any other change reads the list again. */
  function apply({ action, table: changed, record }: Change, signal: AbortSignal): void {
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
    wasOpen = false
    state = tokens.identity?.() === identity ? { ...state, status: 'loading', error: undefined } : empty
    identity = tokens.identity?.()
    const unsubscribe = hubOf(client.transport).subscribe({
      tables: [table, ...also],
      connected(isGap) {
        const isCurrent = wasOpen && isLoaded && !isGap
        isConnected = true
        wasOpen = true
        if (!isCurrent) void read(signal)
        else change({ status: 'live', error: undefined })
      },
      change: (each) => apply(each, signal),
      disconnected(error) {
        isConnected = false
        suspend(error)
      },
      failed(error) {
        isConnected = false
        change({ status: 'failed', error })
      },
      reset() {
        isConnected = false
        wasOpen = false
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

/** Returns true if an item has this primary key. The values of a delete are strings. */
function hasKey(item: unknown, key: Columns): boolean {
  return key.every(([name, value]) => String((item as Record<string, unknown>)[name]) === String(value))
}
