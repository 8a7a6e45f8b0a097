import type { FastifyReply, FastifyRequest } from 'fastify'
import { WebSocket, WebSocketServer } from 'ws'
import type { UpgradeOffer } from '../../../../http/requests/upgrade.ts'
import { realtimeErrors } from '../errors.ts'

/** Close reasons that the protocol requires (RFC 6455 §7.4.1). The library sends codes alone. */
const protocolReasons: Readonly<Record<number, string>> = {
  1002: 'protocol error',
  1007: 'text is not valid UTF-8',
}

/** Opening handshake (RFC 6455 §4.2). */
export class WebSocketHandshake {
  readonly #server: WebSocketServer
  #problem: string | undefined

  /**
   * @param messageLimitBytes size beyond which a message closes the connection (1009)
   * @param protocol subprotocol that the server speaks; undefined if it speaks none
   */
  constructor(messageLimitBytes: number, protocol?: string) {
    this.#server = new WebSocketServer({
      noServer: true,
      clientTracking: false,
      perMessageDeflate: false,
      maxPayload: messageLimitBytes,
      // The library would select the client’s first offer. RFC 6455 §4.2.2 allows only one that the server speaks, or
      // none.
      handleProtocols: (offered) => (protocol !== undefined && offered.has(protocol) ? protocol : false),
      WebSocket: class extends WebSocket {
        override close(code?: number, reason?: string | Buffer): void {
          const known =
            code === 1009 ? `message exceeds ${messageLimitBytes} bytes` : protocolReasons[code ?? 0]
          super.close(code, reason ?? known)
        }
      },
    })
    // The event is emitted before `handleUpgrade` returns.
    this.#server.on('wsClientError', (error) => {
      this.#problem = error.message
    })
  }

  /**
   * Accepts the handshake.
   *
   * @returns undefined if the client has disconnected
   * @throws AppError bad_handshake, upgrade_required
   */
  accept({ raw }: FastifyRequest, reply: FastifyReply, offer: UpgradeOffer): WebSocket | undefined {
    if (raw.headers['sec-websocket-version'] !== '13') {
      throw realtimeErrors.upgradeRequired().with({ headers: { 'sec-websocket-version': '13' } })
    }
    let accepted: WebSocket | undefined
    this.#problem = undefined
    this.#server.handleUpgrade(raw, offer.socket, offer.head, (socket) => {
      accepted = socket
    })
    if (this.#problem !== undefined) throw realtimeErrors.badHandshake(this.#problem)
    offer.take(reply)
    return accepted
  }
}
