import type { ServerResponse } from 'node:http'
import type { Writable } from 'node:stream'
import type { FastifyReply } from 'fastify'
import { noteStream } from '../observation/request-observer.ts'

/** Time for a client to read the last bytes of a stream. */
const drainTimeoutMs = 2000

/** Server-sent events (HTML Standard, Server-sent events) on the connection of a request. */
export class EventStream {
  readonly #response: ServerResponse

  /** Takes over the reply and sends the head; headers that were set before are kept. */
  constructor(reply: FastifyReply) {
    reply.hijack()
    this.#response = reply.raw
    // A connection error of the client ends the stream and nothing else.
    this.#response.on('error', () => undefined)
    this.#response.writeHead(200, {
      ...(reply.getHeaders() as Record<string, string>),
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store, no-transform',
      // Proxies that buffer responses would hold events back.
      'x-accel-buffering': 'no',
    })
    noteStream(reply, this.#response)
  }

  onClose(listener: () => void): void {
    this.#response.once('close', listener)
  }

  /** Sends frames, or parts of them. */
  write(text: string): void {
    if (!this.#response.writableEnded) this.#response.write(text)
  }

  get pendingBytes(): number {
    return this.#response.writableLength
  }

  drained(): Promise<void> {
    return drained(this.#response)
  }

  /** Sends the last frames and ends; a client that does not read them in time is disconnected. */
  end(text: string): void {
    this.#response.end(text)
    const timer = setTimeout(() => this.#response.destroy(), drainTimeoutMs).unref()
    this.#response.once('close', () => clearTimeout(timer))
  }
}

/** Reason for the end of a stream, and the time to reconnect. */
export interface StreamClose {
  readonly reason: string
  readonly message: string
  /** Milliseconds before the next attempt; undefined where another attempt would fail, too. */
  readonly retryMs: number | undefined
}

/** Formats the last event of a stream. A browser's `EventSource` waits for `retry` before it reconnects. */
export function formatClose({ reason, message, retryMs }: StreamClose): string {
  const retry = retryMs === undefined ? '' : `retry: ${retryMs}\n`
  return `${retry}${formatEvent({ name: 'close', data: JSON.stringify({ reason, message, retryMs }) })}`
}

/**
 * Maximum jitter added to a reconnect delay, so that clients that were disconnected together do not reconnect
 * together.
 */
const retryJitterMs = 2000

/** Returns the milliseconds that a client of a stream waits before it reconnects. */
export function reconnectAfter(seconds: number): number {
  return Math.round(seconds * 1000 + Math.random() * retryJitterMs)
}

/** Resolves when the client has read everything, or has disconnected. */
export function drained(writable: Writable): Promise<void> {
  if (!writable.writableNeedDrain || writable.destroyed) return Promise.resolve()
  return new Promise((resolve) => {
    const settle = () => {
      writable.off('drain', settle)
      writable.off('close', settle)
      resolve()
    }
    writable.once('drain', settle).once('close', settle)
  })
}

/** Formats one event. Its data is one line. */
export function formatEvent(event: { id?: string | undefined; name?: string; data: string }): string {
  const id = event.id === undefined ? '' : `id: ${event.id}\n`
  const name = event.name === undefined ? '' : `event: ${event.name}\n`
  return `${id}${name}data: ${event.data}\n\n`
}
