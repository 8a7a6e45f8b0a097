import type { Client } from '../client.ts'
import type { AnyDatabase } from '../database-types.ts'
import { BasaltError, isBasaltError } from '../errors.ts'
import { type ChannelMessage, channelSocketOf } from './channel-socket.ts'

export interface Broadcast {
  readonly event: string
  readonly payload: unknown
}

/** Who is on a channel: what each connection shows, by its id. */
export type Present = ReadonlyMap<string, unknown>

export interface ChannelListener {
  readonly onBroadcast?: ((broadcast: Broadcast) => void) | undefined
  readonly onPresence?: ((present: Present) => void) | undefined
  /** The channel is joined; again after each break, which may have lost broadcasts. */
  readonly onConnected?: (() => void) | undefined
  /** It connects again by itself, unless the channel is refused. */
  readonly onDisconnected?: ((error: unknown) => void) | undefined
}

export interface Channel {
  /** Sends to everybody else on the channel, once it is joined; rejects when the connection breaks meanwhile, or the channel is refused or left. */
  broadcast(event: string, payload: unknown): Promise<void>
  /** Shows an object to everybody on the channel, until `untrack` or `leave`. */
  track(presence: object): Promise<void>
  untrack(): Promise<void>
  leave(): void
}

/** Joins a channel, over the one WebSocket of the client. @throws TypeError where there is none, as in Node 20 */
export function joinChannel<DB extends AnyDatabase>(
  client: Client<DB>,
  channel: string,
  listener: ChannelListener,
): Channel {
  if (typeof WebSocket !== 'function')
    throw new TypeError('channels need a global WebSocket (Node 22 has one)')
  const socket = channelSocketOf(client.transport)
  const present = new Map<string, unknown>()
  /** What is shown, on each connection again. */
  let presence: object | undefined
  let joined = createGate()
  let isJoined = false
  /** The answer to the presence that was sent on joining. */
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
      // It would be refused again.
      if (isBasaltError(error, 'channel_refused') && presence === own) presence = undefined
      throw error
    }
  }

  const leave = socket.join({
    channel,
    receive,
    connected() {
      joined.resolve()
      // One that was refused is joined with another connection.
      joined = { ...joined, promise: Promise.resolve() }
      isJoined = true
      shownOnJoining = presence === undefined ? Promise.resolve() : show()
      // Nothing may be waiting for it.
      shownOnJoining.catch(() => undefined)
      listener.onConnected?.()
    },
    disconnected(error, isFinal) {
      fail(error, isFinal)
      listener.onDisconnected?.(error)
    },
  })

  /** Fails what waits to be sent, and, for good, all that is sent from now on. */
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

/** `Promise.withResolvers`, which not every browser has. */
function createGate() {
  let resolve = () => {}
  let reject: (error: unknown) => void = () => {}
  const promise = new Promise<void>((done, failed) => {
    resolve = done
    reject = failed
  })
  // Nothing may be waiting for it.
  promise.catch(() => undefined)
  return { promise, resolve, reject }
}
