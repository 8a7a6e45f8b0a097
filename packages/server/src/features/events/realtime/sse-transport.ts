import type { FastifyReply } from 'fastify'
import { EventStream, formatEvent } from '../../../http/responses/sse.ts'
import { type Ending, gapMessage, type Transport } from './stream.ts'

/** What a browser waits before it connects again. */
const reconnectMs = 1000

/** A stream of server-sent events, once it has begun. */
export class SseTransport implements Transport {
  readonly name = 'sse'
  readonly #reply: FastifyReply
  #events: EventStream | undefined

  constructor(reply: FastifyReply) {
    this.#reply = reply
  }

  get hasBegun(): boolean {
    return this.#events !== undefined
  }

  /**
   * Sends the head and the first event.
   *
   * @param position where the stream begins
   */
  begin(clientId: string, position: string, hasGap: boolean): void {
    this.#events = new EventStream(this.#reply)
    const data = JSON.stringify({ clientId })
    this.#events.write(`retry: ${reconnectMs}\n${formatEvent({ id: position, name: 'connected', data })}`)
    if (hasGap) this.gap(position)
  }

  frame(id: string | undefined, body: string): string {
    return formatEvent({ id, data: body })
  }

  send(frames: readonly string[]): void {
    this.#events?.write(frames.join(''))
  }

  gap(id: string | undefined): void {
    this.#events?.write(formatEvent({ id, name: 'gap', data: JSON.stringify({ message: gapMessage }) }))
  }

  /** An event without data is not dispatched, but its id counts (HTML Standard, Server-sent events). */
  heartbeat(id: string | undefined): void {
    this.#events?.write(id === undefined ? ':\n\n' : `:\nid: ${id}\n\n`)
  }

  get pendingBytes(): number {
    return this.#events?.pendingBytes ?? 0
  }

  drained(): Promise<void> {
    return this.#events?.drained() ?? Promise.resolve()
  }

  end(ending: Ending): void {
    const data = JSON.stringify({ reason: ending, message: messages[ending] })
    this.#events?.end(formatEvent({ name: 'close', data }))
  }
}

const messages: Readonly<Record<Ending, string>> = {
  slow_client: 'the client reads too slowly; reconnect with Last-Event-ID to resume',
  session_ended: 'the token has expired or its session has ended',
  server_shutdown: 'the server is shutting down; reconnect',
  server_error: 'internal error; reconnect with Last-Event-ID to resume',
  disconnected: 'disconnected by an administrator',
}
