import { BasaltError } from '../errors.ts'
import { parseExact, stringify } from '../exact-json.ts'
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
  /** What has to be sent again on each connection, in order. */
  readonly greetings: () => readonly object[]
  readonly receive: (message: ChannelMessage) => void
  readonly connected: () => void
  readonly disconnected: (error: unknown) => void
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

function createChannelSocket(transport: Transport): ChannelSocket {
  const members = new Set<ChannelMember>()
  const waiting = new Map<number, Waiting>()
  let socket: WebSocket | undefined
  let isReady = false
  let running: AbortController | undefined
  let lastRef = 0

  function send(message: object): Promise<void> {
    const open = socket
    if (open === undefined || !isReady) return Promise.reject(brokenConnection())
    return sendOn(open, message)
  }

  function sendOn(open: WebSocket, message: object): Promise<void> {
    lastRef += 1
    const ref = lastRef
    return new Promise((resolve, reject) => {
      waiting.set(ref, { resolve, reject })
      open.send(stringify({ ...message, ref }))
    })
  }

  function receive(text: string): void {
    const message = parseExact(text) as ChannelMessage
    if (message.type === 'reply') {
      const { ref, status } = message
      const answered = waiting.get(Number(ref))
      waiting.delete(Number(ref))
      if (status === 'ok') answered?.resolve()
      else answered?.reject(new BasaltError(String(message.message), { error: 'channel_refused', status: 0 }))
      return
    }
    for (const member of [...members]) if (member.channel === message.channel) member.receive(message)
  }

  /** @returns the code that the connection was closed with */
  async function connect(signal: AbortSignal, opened: () => void): Promise<number> {
    const token = await transport.tokens.token()
    if (signal.aborted) return closedByClient
    const open = new WebSocket(`${transport.url.replace(/^http/, 'ws')}/api/realtime/ws`)
    socket = open
    const close = () => open.close(closedByClient)
    signal.addEventListener('abort', close, { once: true })
    const stopRenewing = transport.tokens.subscribe?.(() => void authenticate(open))
    try {
      const code = await new Promise<number>((resolve) => {
        open.onmessage = ({ data }: MessageEvent<string>) => receive(data)
        open.onclose = ({ code }) => resolve(code)
        open.onopen = () => {
          const greet = async () => {
            if (token !== undefined) await sendOn(open, { type: 'auth', token })
            isReady = true
            opened()
            for (const member of [...members]) await greetFor(member)
          }
          // What is refused closes the connection, or was said to the member.
          greet().catch(() => undefined)
        }
      })
      if (code === refusedToken && token !== undefined) await transport.tokens.renew?.(token)
      return code
    } finally {
      isReady = false
      socket = undefined
      stopRenewing?.()
      signal.removeEventListener('abort', close)
      for (const { reject } of waiting.values()) reject(brokenConnection())
      waiting.clear()
    }
  }

  /** With the successor of its token a connection stays open; that of another user needs another connection. */
  async function authenticate(open: WebSocket): Promise<void> {
    const token = await transport.tokens.token()
    if (token === undefined) {
      open.close(closedByClient)
      return
    }
    if (isReady && open === socket)
      await sendOn(open, { type: 'auth', token }).catch(() => open.close(closedByClient))
  }

  async function greetFor(member: ChannelMember): Promise<void> {
    try {
      for (const greeting of member.greetings()) await send(greeting)
      member.connected()
    } catch (error) {
      if (isReady) member.disconnected(error)
    }
  }

  async function run(signal: AbortSignal): Promise<void> {
    let failures = 0
    while (!signal.aborted) {
      const code = await connect(signal, () => {
        failures = 0
      }).catch(() => 1006)
      if (signal.aborted) return
      const error = new BasaltError(`the connection was closed (${code})`, {
        error: `socket_${code}`,
        status: 0,
      })
      for (const member of [...members]) member.disconnected(error)
      if (code === endedByAdministrator) {
        running = undefined
        return
      }
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
      } else if (isReady) void greetFor(member)
      return () => {
        if (!members.delete(member)) return
        const isLast = ![...members].some(({ channel }) => channel === member.channel)
        if (isLast) send({ type: 'channel_unsubscribe', channel: member.channel }).catch(() => undefined)
        if (members.size > 0) return
        running?.abort()
        running = undefined
      }
    },
  }
}

const closedByClient = 1000
const endedByAdministrator = 4000
const refusedToken = 4401

function brokenConnection(): BasaltError {
  return new BasaltError('the connection is broken', { error: 'network_error', status: 0 })
}
