import type { WebSocket } from 'ws'
import { whenLate } from '../../../../lib/timer.ts'

/** Pings a peer in a rhythm: one that does not answer in time is gone, whatever TCP believes. */
export class WebSocketPulse {
  readonly #interval: NodeJS.Timeout
  #cancelFailure: (() => void) | undefined

  constructor(socket: WebSocket, intervalMs: number, answerMs: number, onFailure: () => void) {
    this.#interval = setInterval(() => {
      // One ping at a time: an answer says nothing about which it is for.
      if (this.#cancelFailure !== undefined) return
      this.#cancelFailure = whenLate(answerMs, onFailure)
      socket.ping()
    }, intervalMs).unref()
    socket.on('pong', () => {
      this.#cancelFailure?.()
      this.#cancelFailure = undefined
    })
    socket.once('close', () => {
      clearInterval(this.#interval)
      this.#cancelFailure?.()
    })
  }
}
