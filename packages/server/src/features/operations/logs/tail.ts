import type { FastifyReply } from 'fastify'
import type { Logger } from 'pino'
import type { SystemDatabase } from '../../../database/system-database.ts'
import { httpErrors } from '../../../http/errors/errors.ts'
import { EventStream, formatClose, formatEvent, reconnectAfter } from '../../../http/responses/sse.ts'
import { messageOf } from '../../../lib/errors.ts'
import { type LogFilter, listLogsSince } from './log.ts'

/** Interval at which a tail reads entries of all nodes. */
const pollMs = 500
/** Interval of heartbeats on a quiet stream. */
const heartbeatMs = 20_000

export interface TailOptions {
  readonly database: SystemDatabase
  readonly log: Logger
}

/** Live entries of all nodes, as server-sent events. */
export class LogTails {
  readonly #options: TailOptions
  readonly #open = new Set<() => void>()
  #isDraining = false

  constructor(options: TailOptions) {
    this.#options = options
  }

  /** Rejects new tails during shutdown. @throws AppError shutting_down */
  requireOpen(): void {
    if (this.#isDraining) throw httpErrors.shuttingDown().retryAfter(1)
  }

  /**
   * Opens a tail. It ends when the administrator is no longer admitted.
   *
   * @param snapshot position where it starts; the id of every event continues there
   */
  open(
    reply: FastifyReply,
    filter: LogFilter,
    snapshot: string,
    isStillAdmitted: () => Promise<boolean>,
  ): void {
    const { database, log } = this.#options
    const stream = new EventStream(reply)
    let position = snapshot
    let timer: NodeJS.Timeout | undefined
    let isOpen = true
    let quietSince = performance.now()
    const close = () => {
      isOpen = false
      clearTimeout(timer)
      this.#open.delete(end)
    }
    const endWith = (closing: Parameters<typeof formatClose>[0]) => {
      close()
      stream.end(formatClose(closing))
    }
    const end = () =>
      endWith({
        reason: 'server_shutdown',
        message: 'the server is shutting down; reconnect',
        retryMs: reconnectAfter(1),
      })
    const send = (text: string) => {
      stream.write(text)
      quietSince = performance.now()
    }
    const poll = async () => {
      try {
        const { rows, snapshot: next } = await listLogsSince(database, filter, position)
        const isAdmitted = await isStillAdmitted()
        if (!isOpen) return
        if (!isAdmitted) {
          endWith({
            reason: 'session_ended',
            message: 'the session has ended; sign in again',
            retryMs: undefined,
          })
          return
        }
        const events = rows.map((row, index) =>
          // Reconnecting in the middle repeats entries rather than losing some.
          formatEvent({
            id: index === rows.length - 1 ? next : position,
            name: 'log',
            data: JSON.stringify(row),
          }),
        )
        position = next
        if (events.length > 0) send(events.join(''))
        else if (performance.now() - quietSince > heartbeatMs) send(': alive\n\n')
        await stream.drained()
      } catch (error) {
        log.debug({ reason: messageOf(error) }, 'failed to read the log for a tail; retrying')
      }
      if (isOpen) timer = setTimeout(() => void poll(), pollMs).unref()
    }
    stream.onClose(close)
    this.#open.add(end)
    send(`id: ${snapshot}\nevent: ready\ndata: {}\n\n`)
    void poll()
  }

  /** Ends all tails and admits no more. */
  drain(): void {
    this.#isDraining = true
    for (const end of [...this.#open]) end()
  }
}
