import type { Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { WebSocket } from 'ws'
import { drained } from '../../../../http/responses/sse.ts'
import { whenLate } from '../../../../lib/timer.ts'

/** Milliseconds that a client has to confirm a close. */
const closeTimeoutMs = 2000

/** Connection to a WebSocket client. Each frame is a JSON text. */
export class WebSocketConnection {
  readonly #socket: WebSocket
  readonly #connection: Socket
  #drained: Promise<void> | undefined

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

  /** Resolves when the client has read everything. All that wait share one listener. */
  drained(): Promise<void> {
    this.#drained ??= drained(this.#connection).finally(() => {
      this.#drained = undefined
    })
    return this.#drained
  }

  /**
   * Resolves when the client has read what is pending, or the connection has ended.
   *
   * @param readMs time that the client has
   * @param onLate runs if it takes longer
   */
  async drainedWithin(readMs: number, onLate: () => void): Promise<void> {
    const cancel = whenLate(readMs, onLate)
    await this.drained()
    cancel()
    // A destroyed connection is drained, and still open until its next event.
    await nextTurn()
  }

  /** Stops reading messages. */
  pause(): void {
    this.#socket.pause()
  }

  resume(): void {
    if (this.#socket.isPaused) this.#socket.resume()
  }

  /** Closes with a reason. Terminates the connection of a client that does not confirm in time. */
  close(code: number, reason: string): void {
    if (!this.isOpen) return
    // A client that must confirm has to be read.
    this.resume()
    this.#socket.close(code, reason)
    const timer = setTimeout(() => this.#socket.terminate(), closeTimeoutMs).unref()
    this.#socket.once('close', () => clearTimeout(timer))
  }

  cutOff(): void {
    this.#socket.terminate()
  }
}
