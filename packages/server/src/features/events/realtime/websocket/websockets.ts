import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'
import type { RealtimeConfig } from '../config.ts'
import { MessageQueue } from './message-queue.ts'
import { WebSocketPulse } from './websocket-pulse.ts'
import { type Offered, type SessionDeps, WebSocketSession } from './websocket-session.ts'
import { WebSocketTransport } from './websocket-transport.ts'

/** Unauthenticated WebSockets from one address at most. */
export const unauthenticatedPerAddress = 100

export interface WebSocketsDeps extends Omit<SessionDeps, 'broadcastLimitBytes'> {
  readonly config: RealtimeConfig
}

/** Every open WebSocket of this node. */
export class WebSockets {
  readonly #deps: WebSocketsDeps
  readonly #sessions = new Map<string, WebSocketSession>()
  /** Those that came without a token; some may have been admitted since. */
  readonly #unauthenticated = new Set<WebSocketSession>()

  constructor(deps: WebSocketsDeps) {
    this.#deps = deps
  }

  open(socket: WebSocket, connection: Socket, address: string, offered: Offered): void {
    const { config, streams, timing, anonymous } = this.#deps
    const transport = new WebSocketTransport(socket, connection)
    const deps = { ...this.#deps, broadcastLimitBytes: config.broadcast_max_message_bytes }
    const session = new WebSocketSession(deps, transport, new MessageQueue(socket), address)
    // What a client does wrong closes its socket, with the code that RFC 6455 has for it.
    socket.on('error', () => undefined)
    socket.once('close', () => {
      this.#sessions.delete(session.id)
      this.#unauthenticated.delete(session)
      session.leave()
    })
    if (anonymous === undefined && offered === 'nothing') {
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
    session.begin(offered)
  }

  /** Ends those that are no streams yet; the others end with the streams. */
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
