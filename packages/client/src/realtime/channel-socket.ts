import { BasaltError } from '../errors.ts'
import { parseExact, stringify } from '../exact-json.ts'
import { callEach } from '../listeners.ts'
import type { Transport } from '../transport.ts'
import { pauseBeforeAttempt } from './reconnect.ts'

/** What the server sends about a channel. */
export interface ChannelMessage {
  readonly type: string
  readonly channel?: string
  readonly [member: string]: unknown
}

export interface ChannelMember {
  readonly channel: string
  readonly receive: (message: ChannelMessage) => void
  /** The server has accepted the subscription, on each connection. */
  readonly connected: () => void
  /** @param isFinal it is not joined again on this connection */
  readonly disconnected: (error: unknown, isFinal: boolean) => void
}

/** One WebSocket for all channels of a client; it is open while there is one. */
export interface ChannelSocket {
  join(member: ChannelMember): () => void
  /** @throws BasaltError what the server has answered, or that the connection is broken */
  send(message: object): Promise<void>
}

const sockets = new WeakMap<Transport, ChannelSocket>()

export function channelSocketOf(transport: Transport): ChannelSocket {
  const socket = sockets.get(transport) ?? createChannelSocket(transport)
  sockets.set(transport, socket)
  return socket
}

interface Waiting {
  readonly resolve: () => void
  readonly reject: (error: unknown) => void
}

interface Connection {
  readonly socket: WebSocket
  /** Messages that the server has not answered yet, by their `ref`. */
  readonly waiting: Map<number, Waiting>
}

function createChannelSocket(transport: Transport): ChannelSocket {
  const members = new Set<ChannelMember>()
  /** Authenticated; not one that is being closed, which may last until after the next is open. */
  let current: Connection | undefined
  let running: AbortController | undefined
  let lastRef = 0

  function send(message: object): Promise<void> {
    return current === undefined ? Promise.reject(brokenConnection()) : sendOn(current, message)
  }

  function sendOn({ socket, waiting }: Connection, message: object): Promise<void> {
    lastRef += 1
    const ref = lastRef
    return new Promise((resolve, reject) => {
      const text = stringify({ ...message, ref })
      waiting.set(ref, { resolve, reject })
      socket.send(text)
    })
  }

  function receive(connection: Connection, text: string): void {
    const message = parseExact(text) as ChannelMessage
    if (message.type === 'reply') {
      const ref = Number(message.ref)
      const answered = connection.waiting.get(ref)
      connection.waiting.delete(ref)
      if (message.status === 'ok') answered?.resolve()
      else answered?.reject(new BasaltError(String(message.message), { error: 'channel_refused', status: 0 }))
      return
    }
    if (connection !== current) return
    callEach(
      members,
      (member) => members.has(member) && member.channel === message.channel && member.receive(message),
    )
  }

  /** @returns the code that the connection was closed with */
  async function connect(signal: AbortSignal, opened: () => void): Promise<number> {
    const token = await transport.tokens.token()
    if (signal.aborted) return closedByClient
    const socket = new WebSocket(`${transport.url.replace(/^http/, 'ws')}/api/realtime/ws`)
    const connection: Connection = { socket, waiting: new Map() }
    const close = () => socket.close(closedByClient)
    signal.addEventListener('abort', close, { once: true })
    let stopWatching: (() => void) | undefined
    const stopRenewing = transport.tokens.subscribe?.(() => void authenticate(connection).catch(close))
    try {
      const code = await new Promise<number>((resolve) => {
        const watch = watchConnection(connection, () => {
          // Which waits for an answer as well.
          close()
          resolve(unanswered)
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
            // The server closes the connection and says why.
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
      for (const { reject } of connection.waiting.values()) reject(brokenConnection())
    }
  }

  /** The network can take a connection away without a word, as while a computer sleeps: the server is asked for a reply. */
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

  /** With the successor of its token a connection stays open; that of another user needs another connection. */
  async function authenticate(connection: Connection): Promise<void> {
    const token = await transport.tokens.token()
    // It may have sent the one before already.
    if (token === undefined || connection !== current) return connection.socket.close(closedByClient)
    await sendOn(connection, { type: 'auth', token })
  }

  async function subscribeFor(member: ChannelMember): Promise<void> {
    if (!members.has(member)) return
    let answered = member.connected
    try {
      await send({ type: 'channel_subscribe', channel: member.channel })
    } catch (error) {
      // All members learn that a connection is broken.
      if (current === undefined) return
      answered = () => member.disconnected(error, true)
    }
    if (members.has(member)) callEach([answered], (call) => call())
  }

  async function run(signal: AbortSignal): Promise<void> {
    let failures = 0
    while (!signal.aborted) {
      const code = await connect(signal, () => {
        failures = 0
      }).catch(() => unanswered)
      if (signal.aborted) return
      const isFinal = code === endedByAdministrator
      if (isFinal) running = undefined
      const error = new BasaltError(`the connection was closed (${code})`, {
        error: `socket_${code}`,
        status: 0,
      })
      // One may leave while another is called.
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
/** As of one that was closed without a code (RFC 6455 §7.1.5). */
const unanswered = 1006
const endedByAdministrator = 4000
const refusedToken = 4401

function brokenConnection(): BasaltError {
  return new BasaltError('the connection is broken', { error: 'network_error', status: 0 })
}
