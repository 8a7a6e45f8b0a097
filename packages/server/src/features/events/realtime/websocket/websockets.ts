import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'
import type { RealtimeConfig } from '../config.ts'
import { MessageQueue } from './message-queue.ts'
import { WebSocketPulse } from './websocket-pulse.ts'
import { type Credentials, type SessionDeps, WebSocketSession } from './websocket-session.ts'
import { WebSocketTransport } from './websocket-transport.ts'

/** Maximum number of unauthenticated WebSockets from one address. */
export const unauthenticatedPerAddress = 100

export interface WebSocketsDeps extends Omit<SessionDeps, 'broadcastLimitBytes'> {
  readonly config: RealtimeConfig
}

/** Open WebSockets of this node. */
export class WebSockets {
  readonly #deps: WebSocketsDeps
  readonly #sessions = new Map<string, WebSocketSession>()
  /** Sessions that came without a token. Some may have been admitted since. */
  readonly #unauthenticated = new Set<WebSocketSession>()

  constructor(deps: WebSocketsDeps) {
    this.#deps = deps
  }

  open(socket: WebSocket, connection: Socket, address: string, credentials: Credentials): void {
    const { config, streams, timing, anonymous } = this.#deps
    const transport = new WebSocketTransport(socket, connection)
    const deps = { ...this.#deps, broadcastLimitBytes: config.broadcast_max_message_bytes }
    const session = new WebSocketSession(deps, transport, new MessageQueue(socket), address)
    // A protocol error of the client closes its socket, with the code of RFC 6455.
    socket.on('error', () => undefined)
    socket.once('close', () => {
      this.#sessions.delete(session.id)
      this.#unauthenticated.delete(session)
      session.disconnect()
    })
    if (anonymous === undefined && credentials === 'nothing') {
      if (this.#countUnauthenticated(address) >= unauthenticatedPerAddress) {
        session.close(4008, 'connection limit exceeded')
        return
      }
      this.#unauthenticated.add(session)
    }
    this.#sessions.set(session.id, session)
    // Without `binaryType` a message is one buffer.
    socket.on('message', (data, isBinary) => session.receive(data as Buffer, isBinary))
    new WebSocketPulse(socket, config.heartbeat_interval_seconds * 1000, timing.pongMs, () => {
      streams.counters.heartbeatFailures += 1
      transport.cutOff()
    })
    session.begin(credentials)
  }

  /** Ends sessions without a stream. The others end with their streams. */
  drain(): void {
    for (const session of this.#sessions.values()) {
      if (!session.isAdmitted) session.close(1001, 'server is shutting down')
    }
  }

  #countUnauthenticated(address: string): number {
    let count = 0
    for (const session of this.#unauthenticated) {
      if (session.isAdmitted) this.#unauthenticated.delete(session)
      else if (session.address === address) count += 1
    }
    return count
  }
}
