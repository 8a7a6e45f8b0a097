import { BasaltError } from '../errors.ts'
import { parseExact, stringify } from '../exact-json.ts'
import { callEach } from '../listeners.ts'
import type { Transport } from '../transport.ts'
import { pauseBeforeAttempt } from './reconnect.ts'

/** Message of the server about a channel. */
export interface ChannelMessage {
  readonly type: string
  readonly channel?: string
  readonly [member: string]: unknown
}

export interface ChannelMember {
  readonly channel: string
  readonly receive: (message: ChannelMessage) => void
  /** Called on each connection once the server has accepted the subscription. */
  readonly connected: () => void
  /** Called when the subscription ends. @param isFinal true if it is not renewed on this connection */
  readonly disconnected: (error: unknown, isFinal: boolean) => void
}

/** WebSocket that all channels of a client share. It is open while there is a channel. */
export interface ChannelSocket {
  join(member: ChannelMember): () => void
  /** Sends a message and waits for its reply. @throws BasaltError if the server rejects the message or the connection breaks */
  send(message: object): Promise<void>
}

const sockets = new WeakMap<Transport, ChannelSocket>()

export function channelSocketOf(transport: Transport): ChannelSocket {
  const socket = sockets.get(transport) ?? createChannelSocket(transport)
  sockets.set(transport, socket)
  return socket
}

interface PendingReply {
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

interface Connection {
  readonly socket: WebSocket
  /** Messages without a reply yet, by their `ref`. */
  readonly pending: Map<number, PendingReply>
}

function createChannelSocket(transport: Transport): ChannelSocket {
  const members = new Set<ChannelMember>()
  /** Authenticated connection. A closing connection is not current, although it may still be open when the next one opens. */
  let current: Connection | undefined
  let running: AbortController | undefined
  let lastRef = 0

  function send(message: object): Promise<void> {
    return current === undefined ? Promise.reject(brokenConnection()) : sendOn(current, message)
  }

  function sendOn({ socket, pending }: Connection, message: object): Promise<void> {
    lastRef += 1
    const ref = lastRef
    return new Promise((resolve, reject) => {
      const text = stringify({ ...message, ref })
      pending.set(ref, { resolve, reject })
      socket.send(text)
    })
  }

  function receive(connection: Connection, text: string): void {
    const message = parseExact(text) as ChannelMessage
    if (message.type === 'reply') {
      const ref = Number(message.ref)
      const reply = connection.pending.get(ref)
      connection.pending.delete(ref)
      if (message.status === 'ok') reply?.resolve()
      else reply?.reject(new BasaltError(String(message.message), { error: 'channel_refused', status: 0 }))
      return
    }
    if (connection !== current) return
    callEach(
      members,
      (member) => members.has(member) && member.channel === message.channel && member.receive(message),
    )
  }

  /** Runs one connection and returns its close code. */
  async function connect(signal: AbortSignal, opened: () => void): Promise<number> {
    const token = await transport.tokens.token()
    if (signal.aborted) return closedByClient
    const socket = new WebSocket(`${transport.url.replace(/^http/, 'ws')}/api/realtime/ws`)
    const connection: Connection = { socket, pending: new Map() }
    const close = () => socket.close(closedByClient)
    signal.addEventListener('abort', close, { once: true })
    let stopWatching: (() => void) | undefined
    const stopRenewing = transport.tokens.subscribe?.(() => void authenticate(connection).catch(close))
    try {
      const code = await new Promise<number>((resolve) => {
        const watch = watchConnection(connection, () => {
          // Closing would wait for the other side, too.
          close()
          resolve(closedAbnormally)
        })
        stopWatching = watch.stop
        socket.onmessage = ({ data }: MessageEvent<string>) => {
          watch.noteMessage()
          receive(connection, data)
        }
        socket.onclose = ({ code }) => resolve(code)
        socket.onopen = async () => {
          try {
            if (token !== undefined) await sendOn(connection, { type: 'auth', token })
          } catch {
            // The server closes the connection with a code that says why.
            return
          }
          if (signal.aborted) return
          current = connection
          opened()
          for (const member of [...members]) await subscribeFor(member)
        }
      })
      if (code === refusedToken && token !== undefined) await transport.tokens.renew?.(token)
      return code
    } finally {
      if (current === connection) current = undefined
      stopWatching?.()
      stopRenewing?.()
      signal.removeEventListener('abort', close)
      for (const { reject } of connection.pending.values()) reject(brokenConnection())
    }
  }

  /**
   * Watches a connection by requesting a reply at intervals. A network can drop a connection silently, for example while a
   * computer sleeps.
   */
  function watchConnection(connection: Connection, lost: () => void) {
    let isAlive = true
    const timer = setInterval(() => {
      if (!isAlive) return lost()
      isAlive = false
      if (connection === current)
        sendOn(connection, { type: 'unsubscribe', tables: [] }).catch(() => undefined)
    }, silenceMs)
    return {
      noteMessage() {
        isAlive = true
      },
      stop: () => clearInterval(timer),
    }
  }

  /**
   * Authenticates a connection with the current token. The next token of the same user keeps it open. Another user needs a new
   * connection.
   */
  async function authenticate(connection: Connection): Promise<void> {
    const token = await transport.tokens.token()
    // The connection may have sent the previous token already.
    if (token === undefined || connection !== current) return connection.socket.close(closedByClient)
    await sendOn(connection, { type: 'auth', token })
  }

  async function subscribeFor(member: ChannelMember): Promise<void> {
    if (!members.has(member)) return
    let notify = member.connected
    try {
      await send({ type: 'channel_subscribe', channel: member.channel })
    } catch (error) {
      // All members are notified of a broken connection.
      if (current === undefined) return
      notify = () => member.disconnected(error, true)
    }
    if (members.has(member)) callEach([notify], (call) => call())
  }

  async function run(signal: AbortSignal): Promise<void> {
    let failures = 0
    while (!signal.aborted) {
      const code = await connect(signal, () => {
        failures = 0
      }).catch(() => closedAbnormally)
      if (signal.aborted) return
      const isFinal = code === endedByAdministrator
      if (isFinal) running = undefined
      const error = new BasaltError(`the connection was closed (${code})`, {
        error: `socket_${code}`,
        status: 0,
      })
      // A member may be removed while another one is called.
      callEach(members, (member) => members.has(member) && member.disconnected(error, isFinal))
      if (isFinal) return
      failures = await pauseBeforeAttempt(failures + 1, signal)
    }
  }

  return {
    send,
    join(member) {
      members.add(member)
      if (running === undefined) {
        running = new AbortController()
        void run(running.signal)
      } else if (current !== undefined) void subscribeFor(member)
      return () => {
        if (!members.delete(member)) return
        const isLast = ![...members].some(({ channel }) => channel === member.channel)
        if (isLast) send({ type: 'channel_unsubscribe', channel: member.channel }).catch(() => undefined)
        if (members.size > 0) return
        running?.abort()
        running = undefined
        current = undefined
      }
    },
  }
}

const silenceMs = 30_000
const closedByClient = 1000
/** Code of a connection that was closed without a code (RFC 6455, section 7.1.5). */
const closedAbnormally = 1006
const endedByAdministrator = 4000
const refusedToken = 4401

function brokenConnection(): BasaltError {
  return new BasaltError('the connection is broken', { error: 'network_error', status: 0 })
}
