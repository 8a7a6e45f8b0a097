import type { Client } from '../client.ts'
import type { AnyDatabase, TableName } from '../database-types.ts'
import { type Change, followStream, type StreamEvent } from './event-source.ts'
import { hubOf } from './hub.ts'

export {
  type Broadcast,
  type Channel,
  type ChannelListener,
  joinChannel,
  type PresenceState,
} from './channel.ts'
export { type Change, createEventParser, type ServerSentEvent, type StreamEvent } from './event-source.ts'
export { type LiveList, type LiveQuery, type LiveState, live } from './live.ts'

/** Callbacks of {@link subscribe}. */
export interface ChangeListener {
  /**
   * Called when the stream is open and all later writes are delivered.
   * @param isGap true if changes may be missing, so the tables have to be read again
   */
  readonly onConnected?: ((isGap: boolean) => void) | undefined
  /** Called for each change. */
  readonly onChange: (change: Change) => void
  /** Called when the connection breaks, with the reason if there is one. The stream reconnects by itself. */
  readonly onDisconnected?: ((error: Error | undefined) => void) | undefined
  /** Called when the stream has failed permanently. */
  readonly onFailed?: ((error: Error) => void) | undefined
}

/**
 * Subscribes to the changes of tables. Delivers the changes that the user may see. All tabs share one stream.
 *
 * @returns a function that ends the subscription
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
    reset: () => undefined,
  })
}

/** Options of {@link follow}. */
export interface FollowOptions<DB extends AnyDatabase> {
  /**
   * Filter in the language of streams: `unit_price=gt.0.99,genre_id=in.1
   * 2`.
   */
  readonly filter?: string | undefined
  /** Id of the last processed event, after which the stream resumes. A server stores it to resume after a restart. */
  readonly lastEventId?: string | undefined
  /** Called for each event, in order. */
  readonly onEvent: (event: StreamEvent) => void
  /** Signal that ends the stream. */
  readonly signal: AbortSignal
  /** Tables to follow. */
  readonly tables: readonly TableName<DB>[]
}

/**
 * Follows tables over a separate stream whose events have ids, for use on servers. Resolves when the signal is aborted.
 * @throws BasaltError if the server refuses the stream permanently, or the error that `onEvent` throws
 */
export function follow<DB extends AnyDatabase>(
  client: Client<DB>,
  { signal, ...options }: FollowOptions<DB>,
): Promise<void> {
  return followStream(client.transport, options, signal)
}
