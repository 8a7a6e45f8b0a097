import { randomUUID } from 'node:crypto'
import type { Config } from '../../../config/schema.ts'
import { httpErrors } from '../../../http/errors.ts'
import type { Verdict } from '../../../http/identity.ts'
import { ChangeFeed, type ChangeFeedDeps } from './changes/change-feed.ts'
import { realtimeErrors } from './errors.ts'
import { NodeRecord } from './node-record.ts'
import type { Ending, Stream, StreamKeeper } from './stream.ts'

/** How often the tokens and heartbeats of streams are due to be looked at. */
const lookMs = 500
/** What a look-up of a token says counts for no longer: a session that ends ends its streams within a second. */
const verdictMs = 1000

export interface StreamsDeps
  extends Omit<ChangeFeedDeps, 'node' | 'isSentRecorded' | 'onSubscribe' | 'onBreak'> {
  readonly config: Config['realtime']
  /** Limits per address are a hundred times as wide then. */
  readonly isDevelopment: boolean
  /** Whether the token is still valid. */
  readonly verify: (token: string) => Verdict | Promise<Verdict>
}

/** Every open stream of this node, from its admission to its end. */
export class Streams implements StreamKeeper {
  readonly counters = { droppedMessages: 0, heartbeatFailures: 0 }
  readonly node = randomUUID()
  /** What sends them changes. */
  readonly feed: ChangeFeed
  readonly #deps: StreamsDeps
  readonly #record: NodeRecord
  readonly #streams = new Map<string, Stream>()
  #isDraining = false
  #looking: NodeJS.Timeout | undefined

  constructor(deps: StreamsDeps) {
    const { config, database, listened, log } = deps
    this.#deps = deps
    this.feed = new ChangeFeed({
      ...deps,
      node: this.node,
      isSentRecorded: config.sent_retention_hours > 0,
      onSubscribe: (stream) => this.noteChange(stream),
      onBreak: (position) => {
        for (const stream of this.#streams.values()) stream.gap(position)
      },
    })
    this.#record = new NodeRecord({
      database,
      node: this.node,
      streams: this.#streams,
      counters: this.counters,
      renewTables: () => listened.listen(this.feed.tables),
      log,
    })
  }

  get(id: string): Stream | undefined {
    return this.#streams.get(id)
  }

  /** Open streams by transport. */
  get counts(): Readonly<Record<'sse' | 'ws', number>> {
    const counts = { sse: 0, ws: 0 }
    for (const { transport } of this.#streams.values()) counts[transport.name] += 1
    return counts
  }

  requireOpen(): void {
    if (this.#isDraining) throw httpErrors.shuttingDown().retryAfter(1)
  }

  /**
   * Counts the stream among those of its user, or without a token of its address; from then on it ends by {@link Stream.end} or {@link Stream.leave}.
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
    this.#streams.set(stream.id, stream)
    this.#looking ??= setInterval(() => this.#look(), lookMs).unref()
  }

  /** The subscriptions or channels of the stream have changed. */
  noteChange(stream: Stream): void {
    this.#record.noteChange(stream)
  }

  mayReceive(stream: Stream): boolean {
    const { token } = stream.listener
    if (token === undefined) return true
    const verdict = this.#deps.verify(token)
    this.#judge(stream, token, verdict)
    return !(verdict instanceof Promise) && isSignedIn(verdict)
  }

  /**
   * Before something is done that the client asks for: ends a stream whose token is no longer valid.
   *
   * @throws what the look-up fails with
   */
  async verifyAgain(stream: Stream): Promise<void> {
    const { token } = stream.listener
    if (token !== undefined) this.#judge(stream, token, await this.#deps.verify(token))
  }

  onEnd(stream: Stream, ending: Ending | 'gone'): void {
    this.feed.leave(stream)
    if (ending === 'slow_client') this.counters.droppedMessages += 1
    if (!this.#streams.delete(stream.id)) return
    this.#record.delete(stream)
    stream.hooks?.onEnd()
  }

  /** Admits no more streams and ends those that are open. */
  drain(): void {
    this.#isDraining = true
    for (const stream of [...this.#streams.values()]) stream.end('server_shutdown')
  }

  async stop(): Promise<void> {
    this.drain()
    clearInterval(this.#looking)
    await this.feed.stop()
    await this.#record.stop()
  }

  /** Ends streams whose token is no longer valid, and keeps the others alive. */
  #look(): void {
    const now = performance.now()
    const verdicts = new Map<string, Verdict | Promise<Verdict>>()
    const intervalMs = this.#deps.config.heartbeat_interval_seconds * 1000 - lookMs
    for (const stream of [...this.#streams.values()]) {
      const { token } = stream.listener
      if (token !== undefined) {
        const verdict = verdicts.get(token) ?? this.#deps.verify(token)
        verdicts.set(token, verdict)
        this.#judge(stream, token, verdict)
      }
      stream.hooks?.onLook(now)
      if (stream.isOpen && now - stream.lastSentAt >= intervalMs) stream.heartbeat(this.feed.position)
    }
  }

  /** Ends the stream, or sends what it was not sent while the verdict was unknown. */
  #judge(stream: Stream, token: string, verdict: Verdict | Promise<Verdict>): void {
    if (verdict instanceof Promise) {
      const begunAt = performance.now()
      verdict.then(
        (known) => {
          const isOld = performance.now() - begunAt > verdictMs
          if (!isOld || !isSignedIn(known)) this.#judge(stream, token, known)
        },
        // Without the database it is unknown; nothing is sent until it is looked up again.
        () => undefined,
      )
      return
    }
    // A WebSocket may have brought another one meanwhile.
    if (stream.listener.token !== token) return
    if (isSignedIn(verdict)) stream.release()
    else stream.end('session_ended')
  }
}

function isSignedIn(verdict: Verdict): boolean {
  return 'identity' in verdict && ['user', 'admin'].includes(verdict.identity.kind)
}
