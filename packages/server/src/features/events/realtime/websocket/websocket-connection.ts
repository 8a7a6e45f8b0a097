import type { Socket } from 'node:net'
import type { WebSocket } from 'ws'
import { drained } from '../../../../http/responses/sse.ts'

/** Milliseconds that a client has to confirm a close. */
const closeTimeoutMs = 2000

/** Connection to a WebSocket client. Each frame is a JSON text. */
export class WebSocketConnection {
  readonly #socket: WebSocket
  readonly #connection: Socket

  constructor(socket: WebSocket, connection: Socket) {
    this.#socket = socket
    this.#connection = connection
  }

  get isOpen(): boolean {
    return this.#socket.readyState === this.#socket.OPEN
  }

  send(frames: readonly string[]): void {
    if (!this.isOpen) return
    this.#connection.cork()
    for (const frame of frames) this.#socket.send(frame)
    this.#connection.uncork()
  }

  get pendingBytes(): number {
    return this.#socket.bufferedAmount
  }

  drained(): Promise<void> {
    return drained(this.#connection)
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
