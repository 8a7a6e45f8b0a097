import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import { messageOf } from '../../../../lib/errors.ts'
import { TaskQueue } from '../../../../lib/task-queue.ts'
import type { Stream } from '../stream.ts'
import { type Audience, audienceOf, identityKey } from './audience.ts'
import { type Batch, positionAfter } from './batch.ts'
import type { LogEvent } from './event.ts'
import type { HeldSnapshot } from './held-snapshots.ts'
import { ListenerIndex } from './listener-index.ts'
import { formatPosition, type Position } from './position.ts'
import type { Candidates, EventSelector, Message, Selection } from './select-events.ts'
import { type Sent, type SentLog, sentTo } from './sent-log.ts'
import { retryWhileUnavailable } from './verdict-failures.ts'

/** The next batch is read when this one is delivered, or after so long: one slow policy delays its own streams only. */
const deliveryWaitMs = 500

/** The streams of one audience. */
interface AudienceStreams {
  readonly audience: Audience
  readonly streams: Set<Stream>
}

/** The streams of one identity, to which everything is sent in order. */
interface Group {
  readonly key: string
  readonly audiences: Map<string, AudienceStreams>
  readonly queue: TaskQueue
}

/** The streams of this node that listen to tables, grouped by what they have in common. */
export class Hub {
  readonly #selector: EventSelector
  readonly #sent: SentLog
  readonly #log: Logger
  readonly #groups = new Map<string, Group>()
  readonly #joined = new Map<Stream, { readonly group: Group; readonly audienceStreams: AudienceStreams }>()
  readonly #index = new ListenerIndex<Group>()
  /** Needed for every look at the log; undefined when streams were added or removed. */
  #tables: readonly string[] | undefined

  constructor(selector: EventSelector, sent: SentLog, log: Logger) {
    this.#selector = selector
    this.#sent = sent
    this.#log = log
  }

  /** The tables that have streams. */
  get tables(): readonly string[] {
    this.#tables ??= this.#index.tables
    return this.#tables
  }

  /** Adds the stream by its listener and subscriptions; to be called again when they change. */
  join(stream: Stream): void {
    const before = this.#joined.get(stream)?.group
    this.leave(stream)
    if (!stream.isOpen || stream.subscriptions.size === 0) return
    const { subscriptions, listener } = stream
    const { scope } = listener
    const groupKey = identityKey(scope)
    // A group that was left by its last stream keeps its queue for the stream.
    const kept = before?.key === groupKey ? before : undefined
    const group = this.#groups.get(groupKey) ??
      kept ?? { key: groupKey, audiences: new Map(), queue: new TaskQueue() }
    this.#groups.set(groupKey, group)
    // As another identity, too, the stream is sent everything in order.
    if (before !== undefined && before !== group) group.queue.follow(before.queue)
    const audience = audienceOf(scope, subscriptions)
    const audienceStreams = group.audiences.get(audience.key) ?? { audience, streams: new Set() }
    group.audiences.set(audience.key, audienceStreams)
    audienceStreams.streams.add(stream)
    this.#index.add(group, audienceStreams.audience)
    this.#joined.set(stream, { group, audienceStreams })
    this.#tables = undefined
  }

  leave(stream: Stream): void {
    const joined = this.#joined.get(stream)
    if (joined === undefined) return
    const { group, audienceStreams } = joined
    this.#joined.delete(stream)
    const { audience, streams } = audienceStreams
    streams.delete(stream)
    if (streams.size === 0) group.audiences.delete(audience.key)
    this.#index.remove(group, audience)
    this.#tables = undefined
    if (group.audiences.size === 0) this.#groups.delete(group.key)
  }

  /**
   * Delivers to every stream what it may receive, each identity by itself. Identities that cannot receive any of the
   * events are passed over.
   *
   * @param position after the batch
   * @param before the state before the events, if it could be held
   */
  async deliver(batch: Batch<LogEvent>, position: Position, before: HeldSnapshot | undefined): Promise<void> {
    const { events } = batch
    if (events.length === 0) return
    const begunAt = performance.now()
    const prepared = await this.#selector.prepare(events, before)
    // The streams of now: one that joins later has been sent this already.
    const concerned = [...this.#findConcerned(prepared)].map((group) => {
      const targets = [...group.audiences.values()].map(({ audience, streams }) => ({
        audience,
        streams: [...streams],
      }))
      return { group, targets, audiences: targets.map(({ audience }) => audience) }
    })
    const candidates = this.#selector.filter(
      prepared,
      concerned.flatMap(({ audiences }) => audiences),
    )
    const passedOver = this.#countPassedOver(
      prepared,
      concerned.flatMap(({ targets }) => targets),
    )
    const sent: Sent[] = []
    const delivered = concerned.map(({ group, targets, audiences }) =>
      this.#enqueue(
        group,
        targets.flatMap(({ streams }) => streams),
        async () => {
          const selections = await retryWhileUnavailable(begunAt, () =>
            this.#selector.select(candidates, audiences),
          )
          for (const { audience, streams } of targets) {
            const selection = selections.get(audience)
            if (selection === undefined) continue
            sendAll(streams, batch, selection, position)
            sent.push(sentTo(streams, audience.subscriptions, selection.messages))
          }
        },
      ),
    )
    before?.retain()
    const all = Promise.all(delivered).then(() => {
      before?.release()
      this.#sent.record('live', events, sent, passedOver)
    })
    await Promise.race([all, delay(deliveryWaitMs, undefined, { ref: false })])
  }

  /** Runs the task after what is in flight to the stream, and before what follows. */
  async inOrder(stream: Stream, task: () => Promise<void> | void): Promise<void> {
    const group = this.#joined.get(stream)?.group
    if (group !== undefined) await this.#enqueue(group, [stream], task)
  }

  /** Sends the streams of the tables a gap. @param position where they resume */
  sendGap(tables: ReadonlySet<string>, position: Position): void {
    if (tables.size === 0) return
    for (const stream of this.#joined.keys()) {
      const isConcerned = [...stream.subscriptions.keys()].some((table) => tables.has(table))
      if (isConcerned) void this.inOrder(stream, () => stream.gap(position))
    }
  }

  async #enqueue(group: Group, streams: readonly Stream[], task: () => Promise<void> | void): Promise<void> {
    for (const stream of streams) stream.beginBatch()
    try {
      await group.queue.add(task)
    } catch (error) {
      // Better disconnected than left with a hole: a client that resumes is sent what is missing.
      this.#log.warn(
        { reason: messageOf(error) },
        'failed to decide who may receive changes; ending their streams',
      )
      for (const stream of streams) stream.end('server_error')
    } finally {
      for (const stream of streams) stream.endBatch()
    }
  }

  /** Identities that may receive an event, or a gap. */
  #findConcerned({ byTable, undecidable, shared }: Candidates): ReadonlySet<Group> {
    const concerned = new Set<Group>()
    for (const table of new Set([...byTable.keys(), ...undecidable])) {
      const rows = undecidable.has(table) ? undefined : shared.get(table)
      const isForNamedOnly = rows?.names !== undefined && rows.isForNamedOnly
      const groups = isForNamedOnly ? this.#index.ofUsers(table, rows.names) : this.#index.all(table)
      for (const group of groups) concerned.add(group)
    }
    return concerned
  }

  /** Returns by table how many streams that listen to it are of identities that were passed over. */
  #countPassedOver({ byTable }: Candidates, targets: readonly Target[]): ReadonlyMap<string, number> {
    const counts = new Map([...byTable.keys()].map((table) => [table, this.#index.countStreams(table)]))
    for (const { audience, streams } of targets) {
      for (const [table, count] of counts)
        if (audience.subscriptions.has(table)) counts.set(table, count - streams.length)
    }
    return counts
  }
}

/** The streams of an audience as a batch is delivered. */
interface Target {
  readonly audience: Audience
  readonly streams: readonly Stream[]
}

/** Frames of selections, by what else they depend on. */
const framesOf = new WeakMap<Selection, Map<string, readonly string[]>>()

/** Frames, which are the same for all streams of one transport and all callers. */
function sendAll(
  streams: readonly Stream[],
  batch: Batch<LogEvent>,
  selection: Selection,
  position: Position,
): void {
  const { messages, hasGap } = selection
  if (hasGap) for (const stream of streams) stream.gap(position)
  if (messages.length === 0) return
  const frames = framesOf.get(selection) ?? new Map<string, readonly string[]>()
  framesOf.set(selection, frames)
  for (const stream of streams) {
    if (!stream.isOpen) continue
    const key = `${stream.transport.name} ${stream.isCertain}`
    const rendered = frames.get(key) ?? render(stream, batch, messages, stream.isCertain)
    frames.set(key, rendered)
    stream.send(rendered)
  }
}

/**
 * Messages as the stream's client reads them.
 *
 * @param isCertain whether a client that resumes from them misses nothing
 */
export function render(
  stream: Stream,
  batch: Batch<LogEvent>,
  messages: readonly Message[],
  isCertain: boolean,
): string[] {
  return messages.map(({ index, body }) => {
    const id = isCertain ? formatPosition(positionAfter(batch, index)) : undefined
    return stream.transport.frame(id, body)
  })
}
