import type { WebSocket } from 'ws'
import { whenLate } from '../../../../lib/timer.ts'

/** Pinger of a peer. A peer that sends nothing in time is disconnected, even while TCP reports it as open. */
export class WebSocketPulse {
  readonly #interval: NodeJS.Timeout
  #cancelFailure: (() => void) | undefined

  /** @param onPing runs with each ping */
  constructor(
    socket: WebSocket,
    intervalMs: number,
    pongMs: number,
    onFailure: () => void,
    onPing: () => void = () => undefined,
  ) {
    this.#interval = setInterval(() => {
      // Only one ping is sent at a time, because a pong does not say which ping it is for. None is sent while messages
      // wait to be handled, because nothing after them is read, including a pong. The messages themselves count as
      // pongs, so no ping waits then.
      if (this.#cancelFailure !== undefined || socket.isPaused) return
      this.#cancelFailure = whenLate(pongMs, onFailure)
      socket.ping()
      onPing()
    }, intervalMs).unref()
    const confirm = () => {
      this.#cancelFailure?.()
      this.#cancelFailure = undefined
    }
    socket.on('pong', confirm)
    // A pong comes after everything that was sent before it.
    socket.on('message', confirm)
    socket.once('close', () => {
      clearInterval(this.#interval)
      this.#cancelFailure?.()
    })
  }
}
