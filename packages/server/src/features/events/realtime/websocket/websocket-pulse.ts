import type { WebSocket } from 'ws'
import { whenLate } from '../../../../lib/timer.ts'

/** Pings a peer in a rhythm: one that sends nothing in time is disconnected, even while TCP reports it open. */
export class WebSocketPulse {
  readonly #interval: NodeJS.Timeout
  #cancelFailure: (() => void) | undefined

  constructor(socket: WebSocket, intervalMs: number, answerMs: number, onFailure: () => void) {
    this.#interval = setInterval(() => {
      // One ping at a time: an answer says nothing about which it is for. None while messages wait to be handled: nothing
      // that follows them is read, an answer neither. They are an answer themselves, so that no ping waits for one then.
      if (this.#cancelFailure !== undefined || socket.isPaused) return
      this.#cancelFailure = whenLate(answerMs, onFailure)
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
