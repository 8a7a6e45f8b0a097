import type { Client } from '../client.ts'
import type { AnyDatabase } from '../database-types.ts'
import { BasaltError, isBasaltError } from '../errors.ts'
import { type ChannelMessage, channelSocketOf } from './channel-socket.ts'

/** Broadcast of another client on the channel. */
export interface Broadcast {
  readonly event: string
  readonly payload: unknown
}

/** Presence of a channel: the object that each connection tracks, by connection id. */
export type PresenceState = ReadonlyMap<string, unknown>

/** Callbacks of a channel. */
export interface ChannelListener {
  /** Called for each broadcast of another client. */
  readonly onBroadcast?: ((broadcast: Broadcast) => void) | undefined
  /** Called with the whole presence after each change. */
  readonly onPresence?: ((present: PresenceState) => void) | undefined
  /** Called when the channel is joined, and again after each reconnect. Broadcasts during the break are lost. */
  readonly onConnected?: (() => void) | undefined
  /**
   * Called when the connection breaks or the server refuses the channel. The channel reconnects by itself unless it was
   * refused.
   */
  readonly onDisconnected?: ((error: unknown) => void) | undefined
}

/** Joined channel. */
export interface Channel {
  /**
   * Sends to all other connections on the channel, once it is joined. Rejects if the connection breaks in the meantime, or the
   * channel is refused or left.
   */
  broadcast(event: string, payload: unknown): Promise<void>
  /** Shows an object to all connections on the channel, until `untrack` or `leave`. Tracks it again after a reconnect. */
  track(presence: object): Promise<void>
  /** Removes the object shown by `track`. */
  untrack(): Promise<void>
  /** Leaves the channel. Pending and later calls reject with `channel_refused`. */
  leave(): void
}

/**
 * Joins a channel over the WebSocket that all channels of the client share.
 * @throws TypeError without a global WebSocket, as in Node 20
 */
export function joinChannel<DB extends AnyDatabase>(
  client: Client<DB>,
  channel: string,
  listener: ChannelListener,
): Channel {
  if (typeof WebSocket !== 'function')
    throw new TypeError('channels need a global WebSocket (Node 22 has one)')
  const socket = channelSocketOf(client.transport)
  const present = new Map<string, unknown>()
  /** Object to track, on each new connection again. */
  let presence: object | undefined
  let joined = createGate()
  let isJoined = false
  /** Reply to the presence that was sent after joining. */
  let shownOnJoining = Promise.resolve()

  function receive(message: ChannelMessage): void {
    if (message.type === 'broadcast') {
      const { event, payload } = message
      listener.onBroadcast?.({ event: String(event), payload })
    } else if (message.type === 'presence') {
      notePresence(message)
      listener.onPresence?.(new Map(present))
    } else if (message.type === 'system') listener.onDisconnected?.(message)
  }

  function notePresence({
    presence_action,
    presence_conn_id,
    presence: shown,
    presences,
  }: ChannelMessage): void {
    if (presence_action === 'sync') {
      present.clear()
      for (const [id, each] of Object.entries(presences as object)) present.set(id, each)
    } else if (presence_action === 'leave') present.delete(String(presence_conn_id))
    else present.set(String(presence_conn_id), shown)
  }

  async function show(): Promise<void> {
    const own = presence
    try {
      await socket.send({ type: 'presence_track', channel, presence: own })
    } catch (error) {
      // The server would reject the presence again.
      if (isBasaltError(error, 'channel_refused') && presence === own) presence = undefined
      throw error
    }
  }

  const leave = socket.join({
    channel,
    receive,
    connected() {
      joined.resolve()
      // A channel that was refused joins again on a new connection.
      joined = { ...joined, promise: Promise.resolve() }
      isJoined = true
      shownOnJoining = presence === undefined ? Promise.resolve() : show()
      // A rejection is handled even if no caller waits for it.
      shownOnJoining.catch(() => undefined)
      listener.onConnected?.()
    },
    disconnected(error, isFinal) {
      fail(error, isFinal)
      listener.onDisconnected?.(error)
    },
  })

  /** Rejects pending calls. If `isFinal`, later calls are rejected, too. */
  function fail(error: unknown, isFinal: boolean): void {
    joined.reject(error)
    joined = createGate()
    isJoined = false
    if (isFinal) joined.reject(error)
  }

  return {
    async broadcast(event, payload) {
      await joined.promise
      await socket.send({ type: 'broadcast', channel, event, payload })
    },
    async track(shown) {
      presence = shown
      if (isJoined) return await show()
      await joined.promise
      await shownOnJoining
    },
    async untrack() {
      presence = undefined
      await joined.promise
      await socket.send({ type: 'presence_untrack', channel })
    },
    leave() {
      leave()
      fail(new BasaltError('the channel was left', { error: 'channel_refused', status: 0 }), true)
    },
  }
}

/** Creates a promise with its resolvers, as `Promise.withResolvers` does, which not every browser has. */
function createGate() {
  let resolve = () => {}
  let reject: (error: unknown) => void = () => {}
  const promise = new Promise<void>((done, failed) => {
    resolve = done
    reject = failed
  })
  // A rejection is handled even if no caller waits for it.
  promise.catch(() => undefined)
  return { promise, resolve, reject }
}
