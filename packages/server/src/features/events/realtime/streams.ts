import { randomUUID } from 'node:crypto'
import { httpErrors } from '../../../http/errors/errors.ts'
import { ChangeFeed, type ChangeFeedDeps } from './changes/change-feed.ts'
import type { RealtimeConfig } from './config.ts'
import { realtimeErrors } from './errors.ts'
import { NodeRecord } from './node-record.ts'
import type { Ending, Stream, StreamOwner } from './stream.ts'
import { StreamTokens, type VerifyToken } from './stream-tokens.ts'

/** Milliseconds between two rounds of verifying tokens and sending heartbeats. */
const tickMs = 500

export interface StreamsDeps
  extends Omit<ChangeFeedDeps, 'node' | 'isSentRecorded' | 'onSubscribe' | 'onBreak'> {
  readonly config: RealtimeConfig
  /** True in development, where limits per address are a hundred times as high. */
  readonly isDevelopment: boolean
  readonly verify: VerifyToken
}

/** Open streams of this node, from admission to end. */
export class Streams implements StreamOwner {
  readonly counters = { droppedMessages: 0, heartbeatFailures: 0 }
  readonly node = randomUUID()
  /** Feed that sends changes to the streams. */
  readonly feed: ChangeFeed
  readonly #tokens: StreamTokens
  readonly #deps: StreamsDeps
  readonly #record: NodeRecord
  readonly #streams = new Map<string, Stream>()
  /** Streams that share the connection of another one, with that one. They are counted as one. */
  readonly #attached = new Map<Stream, Stream>()
  #isDraining = false
  #ticking: NodeJS.Timeout | undefined

  constructor(deps: StreamsDeps) {
    const { config, database, registry, verify, log } = deps
    this.#deps = deps
    this.#tokens = new StreamTokens(verify)
    this.feed = new ChangeFeed({
      ...deps,
      node: this.node,
      isSentRecorded: config.sent_retention_hours > 0,
      onSubscribe: (stream) => this.noteChange(stream),
      onBreak: (position) => {
        for (const stream of this.#streams.values()) stream.gap(position)
        for (const stream of this.#attached.keys()) stream.gap(position)
      },
    })
    this.#record = new NodeRecord({
      database,
      node: this.node,
      streams: this.#streams,
      counters: this.counters,
      renewTables: () => registry.register(this.feed.tables),
      log,
    })
  }

  get(id: string): Stream | undefined {
    return this.#streams.get(id)
  }

  /** Numbers of open streams by transport. */
  get counts(): Readonly<Record<'sse' | 'ws', number>> {
    const counts = { sse: 0, ws: 0 }
    for (const { transport } of this.#streams.values()) counts[transport.name] += 1
    return counts
  }

  requireOpen(): void {
    if (this.#isDraining) throw httpErrors.shuttingDown().retryAfter(1)
  }

  /**
   * Counts the stream among those of its user, or of its address if it has no token. From then on it ends by
   * {@link Stream.end} or {@link Stream.disconnect}.
   *
   * @throws AppError connection_limit_exceeded, shutting_down
   */
  async admit(stream: Stream): Promise<void> {
    const { config, isDevelopment } = this.#deps
    this.requireOpen()
    const mayOpen = await this.#record.insert(stream, {
      perUser: config.max_connections_per_user,
      perAddress: config.max_anonymous_connections_per_address * (isDevelopment ? 100 : 1),
    })
    if (!mayOpen) throw realtimeErrors.connectionLimitExceeded().retryAfter(5)
    if (!stream.isOpen || this.#isDraining) {
      this.#record.delete(stream)
      this.requireOpen()
      return
    }
    stream.admit()
    this.#streams.set(stream.id, stream)
    this.#ticking ??= setInterval(() => this.#tick(), tickMs).unref()
  }

  /** Registers that the subscriptions or channels of the stream have changed. */
  noteChange(stream: Stream): void {
    this.#record.noteChange(this.#attached.get(stream) ?? stream)
  }

  /**
   * Adds a stream over the connection of an admitted one, which has the same id and token. It is neither counted nor
   * listed by itself, and it ends before the other one does.
   */
  attach(stream: Stream, carrier: Stream): void {
    stream.admit()
    this.#attached.set(stream, carrier)
  }

  mayReceive(stream: Stream): boolean {
    return this.#tokens.mayReceive(stream)
  }

  /** Verifies the token of the stream again. @throws an error of the lookup */
  verifyAgain(stream: Stream): Promise<void> {
    return this.#tokens.verifyAgain(stream)
  }

  onEnd(stream: Stream, ending: Ending | 'client_closed'): void {
    this.feed.detach(stream)
    const carrier = this.#attached.get(stream)
    if (carrier !== undefined) {
      this.#attached.delete(stream)
      this.noteChange(carrier)
      return
    }
    if (ending === 'slow_client') this.counters.droppedMessages += 1
    if (this.#streams.get(stream.id) !== stream) return
    this.#streams.delete(stream.id)
    this.#record.delete(stream)
    stream.hooks?.onEnd?.(stream)
  }

  /** Admits no more streams and ends those that are open. */
  drain(): void {
    this.#isDraining = true
    for (const stream of [...this.#streams.values()]) stream.end('server_shutdown')
  }

  async stop(): Promise<void> {
    this.drain()
    clearInterval(this.#ticking)
    await this.feed.stop()
    await this.#record.stop()
  }

  /** Ends streams whose token is no longer valid, and sends heartbeats on the others. */
  #tick(): void {
    const now = performance.now()
    const intervalMs = this.#deps.config.heartbeat_interval_seconds * 1000 - tickMs
    const streams = [...this.#streams.values()]
    this.#tokens.verifyAll([...streams, ...this.#attached.keys()])
    for (const stream of streams) {
      stream.hooks?.onTick?.(stream, now)
      if (stream.isOpen && now - stream.lastSentAt >= intervalMs) stream.heartbeat(this.feed.position)
    }
  }
}
