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
import { type AudienceDelivery, deliveryTo, type SentLog } from './sent-log.ts'
import { retryWhileUnavailable } from './verdict-failures.ts'

/**
 * Maximum milliseconds before the next batch is read although this one is not delivered. One slow policy then delays
 * only its own streams.
 */
const deliveryWaitMs = 500

/** Streams of one audience. */
interface AudienceStreams {
  readonly audience: Audience
  readonly streams: Set<Stream>
}

/** Streams of one identity, which receive everything in order. */
interface Group {
  readonly key: string
  readonly audiences: Map<string, AudienceStreams>
  readonly queue: TaskQueue
}

/** Streams of this node that subscribe to tables, grouped by what they have in common. */
export class Hub {
  readonly #selector: EventSelector
  readonly #sent: SentLog
  readonly #log: Logger
  readonly #groups = new Map<string, Group>()
  readonly #attached = new Map<Stream, { readonly group: Group; readonly audienceStreams: AudienceStreams }>()
  readonly #index = new ListenerIndex<Group>()
  /** Tables with streams, needed for every read of the log; undefined after streams were added or removed. */
  #tables: readonly string[] | undefined

  constructor(selector: EventSelector, sent: SentLog, log: Logger) {
    this.#selector = selector
    this.#sent = sent
    this.#log = log
  }

  /** Tables that have streams. */
  get tables(): readonly string[] {
    this.#tables ??= this.#index.tables
    return this.#tables
  }

  /** Attaches the stream by its listener and subscriptions. Call it again after they change. */
  attach(stream: Stream): void {
    const before = this.#attached.get(stream)?.group
    this.detach(stream)
    if (!stream.isOpen || stream.subscriptions.size === 0) return
    const { subscriptions, listener } = stream
    const { scope } = listener
    const groupKey = identityKey(scope)
    // A group that its last stream has left keeps its queue for that stream.
    const previous = before?.key === groupKey ? before : undefined
    const group = this.#groups.get(groupKey) ??
      previous ?? { key: groupKey, audiences: new Map(), queue: new TaskQueue() }
    this.#groups.set(groupKey, group)
    // As another identity, too, the stream receives everything in order.
    if (before !== undefined && before !== group) group.queue.follow(before.queue)
    const audience = audienceOf(scope, subscriptions)
    const audienceStreams = group.audiences.get(audience.key) ?? { audience, streams: new Set() }
    group.audiences.set(audience.key, audienceStreams)
    audienceStreams.streams.add(stream)
    this.#index.add(group, audienceStreams.audience)
    this.#attached.set(stream, { group, audienceStreams })
    this.#tables = undefined
  }

  detach(stream: Stream): void {
    const attached = this.#attached.get(stream)
    if (attached === undefined) return
    const { group, audienceStreams } = attached
    this.#attached.delete(stream)
    const { audience, streams } = audienceStreams
    streams.delete(stream)
    if (streams.size === 0) group.audiences.delete(audience.key)
    this.#index.remove(group, audience)
    this.#tables = undefined
    if (group.audiences.size === 0) this.#groups.delete(group.key)
  }

  /**
   * Delivers to every stream what it may receive, each identity independently. Skips identities that cannot receive any
   * of the events.
   *
   * @param position position after the batch
   * @param before the state before the events, if it could be held
   */
  async deliver(batch: Batch<LogEvent>, position: Position, before: HeldSnapshot | undefined): Promise<void> {
    const { events } = batch
    if (events.length === 0) return
    const startedAt = performance.now()
    const prepared = await this.#selector.prepare(events, before)
    // The streams are listed now, because one that attaches later has received these events already.
    const affected = [...this.#findAffected(prepared)].map((group) => {
      const targets = [...group.audiences.values()].map(({ audience, streams }) => ({
        audience,
        streams: [...streams],
      }))
      return { group, targets, audiences: targets.map(({ audience }) => audience) }
    })
    const candidates = this.#selector.filter(
      prepared,
      affected.flatMap(({ audiences }) => audiences),
    )
    const skipped = this.#countSkipped(
      prepared,
      affected.flatMap(({ targets }) => targets),
    )
    const sent: AudienceDelivery[] = []
    const delivered = affected.map(({ group, targets, audiences }) =>
      this.#enqueue(
        group,
        targets.flatMap(({ streams }) => streams),
        async () => {
          const selections = await retryWhileUnavailable(startedAt, () =>
            this.#selector.select(candidates, audiences),
          )
          for (const { audience, streams } of targets) {
            const selection = selections.get(audience)
            if (selection === undefined) continue
            sendAll(streams, batch, selection, position)
            sent.push(deliveryTo(streams, audience.subscriptions, selection.messages))
          }
        },
      ),
    )
    before?.retain()
    const all = Promise.all(delivered).then(() => {
      before?.release()
      this.#sent.record('live', events, sent, skipped)
    })
    await Promise.race([all, delay(deliveryWaitMs, undefined, { ref: false })])
  }

  /** Runs the task after everything in flight to the stream, and before what follows. */
  async inOrder(stream: Stream, task: () => Promise<void> | void): Promise<void> {
    const group = this.#attached.get(stream)?.group
    if (group !== undefined) await this.#enqueue(group, [stream], task)
  }

  /** Sends a gap to the streams of the tables. @param position position at which they resume */
  sendGap(tables: ReadonlySet<string>, position: Position): void {
    if (tables.size === 0) return
    for (const stream of this.#attached.keys()) {
      const isAffected = [...stream.subscriptions.keys()].some((table) => tables.has(table))
      if (isAffected) void this.inOrder(stream, () => stream.gap(position))
    }
  }

  async #enqueue(group: Group, streams: readonly Stream[], task: () => Promise<void> | void): Promise<void> {
    for (const stream of streams) stream.beginBatch()
    try {
      await group.queue.add(task)
    } catch (error) {
      // The streams are disconnected rather than left with missing events. A client that resumes receives them.
      this.#log.warn(
        { reason: messageOf(error) },
        'failed to decide who may receive changes; ending their streams',
      )
      for (const stream of streams) stream.end('server_error')
    } finally {
      for (const stream of streams) stream.endBatch()
    }
  }

  /** Returns the identities that may receive an event or a gap. */
  #findAffected({ byTable, undecidable, shared }: Candidates): ReadonlySet<Group> {
    const affected = new Set<Group>()
    for (const table of new Set([...byTable.keys(), ...undecidable])) {
      const rows = undecidable.has(table) ? undefined : shared.get(table)
      const isForNamedOnly = rows?.names !== undefined && rows.isForNamedOnly
      const groups = isForNamedOnly ? this.#index.ofUsers(table, rows.names) : this.#index.all(table)
      for (const group of groups) affected.add(group)
    }
    return affected
  }

  /** Counts by table the streams of identities that were skipped. */
  #countSkipped({ byTable }: Candidates, targets: readonly Target[]): ReadonlyMap<string, number> {
    const counts = new Map([...byTable.keys()].map((table) => [table, this.#index.countStreams(table)]))
    for (const { audience, streams } of targets) {
      for (const [table, count] of counts)
        if (audience.subscriptions.has(table)) counts.set(table, count - streams.length)
    }
    return counts
  }
}

/** Streams of an audience at the time of a delivery. */
interface Target {
  readonly audience: Audience
  readonly streams: readonly Stream[]
}

/** Frames by selection, and then by transport and certainty. */
const framesOf = new WeakMap<Selection, Map<string, readonly string[]>>()

/** Sends the frames, which are the same for all streams of one transport and all callers. */
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
    const { name, hasOwnFrames } = stream.transport
    const key = hasOwnFrames === true ? undefined : `${name} ${stream.isCertain}`
    const known = key === undefined ? undefined : frames.get(key)
    const rendered = known ?? render(stream, batch, messages, stream.isCertain)
    if (key !== undefined) frames.set(key, rendered)
    stream.send(rendered)
  }
}

/**
 * Renders messages as the client of the stream reads them.
 *
 * @param isCertain true if a client that resumes from them misses nothing
 */
export function render(
  stream: Stream,
  batch: Batch<LogEvent>,
  messages: readonly Message[],
  isCertain: boolean,
): string[] {
  return messages.map((message) => {
    const id = isCertain ? formatPosition(positionAfter(batch, message.index)) : undefined
    return stream.transport.frame(id, message)
  })
}
