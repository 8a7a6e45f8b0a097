import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'
import { WebSocketPulse } from '../websocket/websocket-pulse.ts'
import { unauthenticatedPerAddress } from '../websocket/websockets.ts'
import { graphqlProtocol } from './messages.ts'
import { GraphqlSocket, type GraphqlSocketDeps, type SocketRequest } from './socket.ts'
import { SocketTransport } from './socket-transports.ts'

/** Open GraphQL WebSockets of this node. */
export class GraphqlSockets {
  readonly #deps: GraphqlSocketDeps
  readonly #sockets = new Set<GraphqlSocket>()

  constructor(deps: GraphqlSocketDeps) {
    this.#deps = deps
  }

  open(socket: WebSocket, connection: Socket, request: SocketRequest): void {
    const { streams, timing } = this.#deps
    const transport = new SocketTransport(socket, connection)
    const session = new GraphqlSocket(this.#deps, transport, request)
    // A protocol error of the client closes its socket, with the code of RFC 6455.
    socket.on('error', () => undefined)
    socket.once('close', () => {
      this.#sockets.delete(session)
      session.disconnect()
    })
    if (socket.protocol !== graphqlProtocol) {
      session.close(4406, 'Subprotocol not acceptable')
      return
    }
    if (this.#countUnauthenticated(request.address) >= unauthenticatedPerAddress) {
      session.close(4008, 'connection limit exceeded')
      return
    }
    this.#sockets.add(session)
    // Without `binaryType` a message is one buffer.
    socket.on('message', (data, isBinary) => session.receive(data as Buffer, isBinary))
    const onFailure = () => {
      streams.counters.heartbeatFailures += 1
      transport.cutOff()
    }
    new WebSocketPulse(socket, timing.graphqlPingMs, timing.pongMs, onFailure, () => session.ping())
  }

  /** Closes sockets without a stream. The others end with their streams. */
  drain(): void {
    for (const session of this.#sockets) {
      if (!session.isAdmitted) session.close(1001, 'server is shutting down; reconnect')
    }
  }

  #countUnauthenticated(address: string): number {
    return [...this.#sockets].filter((session) => !session.isAdmitted && session.address === address).length
  }
}
