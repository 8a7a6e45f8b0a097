import type { WebSocket } from 'ws'
import { whenLate } from '../../../../lib/timer.ts'

/** Pings a peer in a rhythm: one that sends nothing in time is gone, whatever TCP believes. */
export class WebSocketPulse {
  readonly #interval: NodeJS.Timeout
  #cancelFailure: (() => void) | undefined

  constructor(socket: WebSocket, intervalMs: number, answerMs: number, onFailure: () => void) {
    const fail = () => {
      // While messages wait to be handled, nothing that follows them is read: neither is an answer.
      if (socket.isPaused) this.#cancelFailure = whenLate(answerMs, fail)
      else onFailure()
    }
    this.#interval = setInterval(() => {
      // One ping at a time: an answer says nothing about which it is for.
      if (this.#cancelFailure !== undefined) return
      this.#cancelFailure = whenLate(answerMs, fail)
      socket.ping()
    }, intervalMs).unref()
    const answer = () => {
      this.#cancelFailure?.()
      this.#cancelFailure = undefined
    }
    socket.on('pong', answer)
    // An answer comes after what was sent before it.
    socket.on('message', answer)
    socket.once('close', () => {
      clearInterval(this.#interval)
      this.#cancelFailure?.()
    })
  }
}
