import type { WebSocket } from 'ws'

/** Pings a peer in a rhythm: one that does not answer in time is gone, whatever TCP believes. */
export class WebSocketPulse {
  readonly #interval: NodeJS.Timeout
  #overdue: NodeJS.Timeout | undefined

  constructor(socket: WebSocket, intervalMs: number, answerMs: number, onFailure: () => void) {
    this.#interval = setInterval(() => {
      // One ping at a time: an answer says nothing about which it is for.
      if (this.#overdue !== undefined) return
      this.#overdue = setTimeout(onFailure, answerMs).unref()
      socket.ping()
    }, intervalMs).unref()
    socket.on('pong', () => {
      clearTimeout(this.#overdue)
      this.#overdue = undefined
    })
    socket.once('close', () => {
      clearInterval(this.#interval)
      clearTimeout(this.#overdue)
    })
  }
}
