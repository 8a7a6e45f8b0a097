import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'
import { drained } from '../../../../http/responses/sse.ts'
import { type Ending, gapMessage, type Transport } from '../stream.ts'

/** Time in which a client has to answer the end of the conversation. */
const closeTimeoutMs = 2000

/** Frames to the client of a WebSocket; each is a JSON text. */
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
    const place = id === undefined ? '' : `"id":${JSON.stringify(id)},`
    return `{"type":"event",${place}${body.slice(1)}`
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

  /** Pings have a rhythm of their own. */
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

  /** Says why and ends; a client that does not answer in time is cut off. */
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

/** Codes from 4000 on are ours, the others RFC 6455 §7.4.1's. */
const endings: Readonly<Record<Ending, { readonly code: number; readonly reason: string }>> = {
  slow_client: { code: 1013, reason: 'the client reads too slowly' },
  session_ended: { code: 4401, reason: 'the token has expired or its session has ended' },
  server_shutdown: { code: 1001, reason: 'server is shutting down' },
  server_error: { code: 1011, reason: 'internal error; reconnect with last_event_id to resume' },
  disconnected: { code: 4000, reason: 'disconnected by an administrator' },
}
