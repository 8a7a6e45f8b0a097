import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'
import { drained } from '../../../../http/responses/sse.ts'
import { type Ending, gapMessage, type Transport } from '../stream.ts'

/** Milliseconds that a client has to confirm a close. */
const closeTimeoutMs = 2000

/** Transport of frames to a WebSocket client. Each frame is a JSON text. */
export class WebSocketTransport implements Transport {
  readonly name = 'ws'
  readonly #socket: WebSocket
  readonly #connection: Socket

  constructor(socket: WebSocket, connection: Socket) {
    this.#socket = socket
    this.#connection = connection
  }

  get isOpen(): boolean {
    return this.#socket.readyState === this.#socket.OPEN
  }

  frame(id: string | undefined, body: string): string {
    const member = id === undefined ? '' : `"id":${JSON.stringify(id)},`
    return `{"type":"event",${member}${body.slice(1)}`
  }

  send(frames: readonly string[]): void {
    if (!this.isOpen) return
    this.#connection.cork()
    for (const frame of frames) this.#socket.send(frame)
    this.#connection.uncork()
  }

  gap(id: string | undefined): void {
    this.send([JSON.stringify({ type: 'system', message: gapMessage, id })])
  }

  /** WebSockets have pings of their own. */
  heartbeat(): void {}

  get pendingBytes(): number {
    return this.#socket.bufferedAmount
  }

  drained(): Promise<void> {
    return drained(this.#connection)
  }

  end(ending: Ending): void {
    const { code, reason } = endings[ending]
    if (ending === 'slow_client') this.send([JSON.stringify({ type: 'error', message: reason })])
    this.close(code, reason)
  }

  /** Closes with a reason. Terminates the connection of a client that does not confirm in time. */
  close(code: number, reason: string): void {
    if (!this.isOpen) return
    this.#socket.close(code, reason)
    const timer = setTimeout(() => this.#socket.terminate(), closeTimeoutMs).unref()
    this.#socket.once('close', () => clearTimeout(timer))
  }

  cutOff(): void {
    this.#socket.terminate()
  }
}

/** Close codes. Codes from 4000 on are Basalt’s own, the others are those of RFC 6455 §7.4.1. */
const endings: Readonly<Record<Ending, { readonly code: number; readonly reason: string }>> = {
  slow_client: { code: 1013, reason: 'the client reads too slowly' },
  session_ended: { code: 4401, reason: 'the token has expired or its session has ended' },
  server_shutdown: { code: 1001, reason: 'server is shutting down' },
  server_error: { code: 1011, reason: 'internal error; reconnect with last_event_id to resume' },
  disconnected: { code: 4000, reason: 'disconnected by an administrator' },
}
