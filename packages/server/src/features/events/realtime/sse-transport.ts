import type { FastifyReply } from 'fastify'
import { EventStream, formatClose, formatEvent, reconnectAfter } from '../../../http/responses/sse.ts'
import type { Message } from './changes/select-events.ts'
import { type Ending, gapMessage, type Transport } from './stream.ts'

/** Milliseconds that a browser waits before it reconnects. */
const reconnectMs = 1000

/** Transport of server-sent events, once the response has begun. */
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
   * @param position position at which the stream begins
   */
  begin(clientId: string, position: string, hasGap: boolean): void {
    this.#events = new EventStream(this.#reply)
    const data = JSON.stringify({ clientId })
    this.#events.write(`retry: ${reconnectMs}\n${formatEvent({ id: position, name: 'connected', data })}`)
    if (hasGap) this.gap(position)
  }

  frame(id: string | undefined, { body: data }: Message): string {
    return formatEvent({ id, data })
  }

  send(frames: readonly string[]): void {
    this.#events?.write(frames.join(''))
  }

  gap(id: string | undefined): void {
    this.#events?.write(formatEvent({ id, name: 'gap', data: JSON.stringify({ message: gapMessage }) }))
  }

  /**
   * Sends a comment, with an id if there is one. An event without data is not dispatched, but its id counts (HTML
   * Standard, Server-sent events).
   */
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
    const { message, isFinal } = endings[ending]
    const retryMs = isFinal === true ? undefined : reconnectAfter(1)
    this.#events?.end(formatClose({ reason: ending, message, retryMs }))
  }
}

/** Texts of the endings. After a final one the same request is refused, or was ended on purpose. */
const endings: Readonly<Record<Ending, { readonly message: string; readonly isFinal?: true }>> = {
  slow_client: { message: 'the client reads too slowly; reconnect with Last-Event-ID to resume' },
  session_ended: { message: 'the token has expired or its session has ended', isFinal: true },
  server_shutdown: { message: 'the server is shutting down; reconnect' },
  server_error: { message: 'internal error; reconnect with Last-Event-ID to resume' },
  disconnected: { message: 'disconnected by an administrator', isFinal: true },
}
