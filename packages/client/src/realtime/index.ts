import type { Client } from '../client.ts'
import type { AnyDatabase, TableName } from '../database-types.ts'
import { type Change, followStream, type StreamEvent } from './event-source.ts'
import { hubOf } from './hub.ts'

export { type Broadcast, type Channel, type ChannelListener, joinChannel, type Present } from './channel.ts'
export { type Change, createEventParser, type ServerSentEvent, type StreamEvent } from './event-source.ts'
export { type LiveList, type LiveQuery, type LiveState, live } from './live.ts'

export interface ChangeListener {
  /** Writes that begin from now on arrive. @param isGap changes may be missing: read the tables again */
  readonly onConnected?: ((isGap: boolean) => void) | undefined
  readonly onChange: (change: Change) => void
  /** It connects again by itself. */
  readonly onDisconnected?: ((error: unknown) => void) | undefined
  /** For good. */
  readonly onFailed?: ((error: unknown) => void) | undefined
}

/**
 * Calls back for each change of these tables that the user may see, over the one stream of all tabs.
 *
 * @returns what ends it
 */
export function subscribe<DB extends AnyDatabase>(
  client: Client<DB>,
  tables: readonly TableName<DB>[],
  { onChange, onConnected, onDisconnected, onFailed }: ChangeListener,
): () => void {
  return hubOf(client.transport).subscribe({
    tables,
    change: onChange,
    connected: (isGap) => onConnected?.(isGap),
    disconnected: (error) => onDisconnected?.(error),
    failed: (error) => onFailed?.(error),
    forget: () => undefined,
  })
}

export interface FollowOptions<DB extends AnyDatabase> {
  /** In the language of streams: `unit_price=gt.0.99,genre_id=in.1|2`. */
  readonly filter?: string | undefined
  /** Where to begin: the id of the last event that was seen, as a server keeps it across restarts. */
  readonly lastEventId?: string | undefined
  readonly onEvent: (event: StreamEvent) => void
  readonly signal: AbortSignal
  readonly tables: readonly TableName<DB>[]
}

/** A stream of one's own with its ids, for servers. Ends with the signal; fails for good, or with what `onEvent` throws. */
export function follow<DB extends AnyDatabase>(
  client: Client<DB>,
  { signal, ...options }: FollowOptions<DB>,
): Promise<void> {
  return followStream(client.transport, options, signal)
}
