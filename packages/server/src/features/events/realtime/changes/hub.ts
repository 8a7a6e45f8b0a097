import { setTimeout as delay } from 'node:timers/promises'
import type { Logger } from 'pino'
import { messageOf } from '../../../../lib/errors.ts'
import type { Stream } from '../stream.ts'
import { type Audience, identityKey, subscriptionKey } from './audience.ts'
import { type Batch, positionAfter, positionBehind } from './batch.ts'
import type { LogEvent } from './event.ts'
import type { HeldSnapshots } from './held-snapshots.ts'
import { covers, formatPosition, type Position, sees } from './position.ts'
import type { EventSelector, Message, Selection } from './select-events.ts'
import { persist } from './verdict-failures.ts'

/** The next batch is read when this one has been told, or after so long: one slow policy holds up its own streams. */
const patienceMs = 500
/** Batches that may wait for one identity to be decided. */
const underWayLimit = 40

/** The streams of one identity; what they are told comes in order, whatever the others wait for. */
interface Group {
  readonly audiences: Map<string, { readonly audience: Audience; readonly streams: Set<Stream> }>
  /** Ends when everything so far has been told. */
  told: Promise<void>
}

/** Keys of the group and the audience of a stream. */
interface Place {
  readonly group: string
  readonly audience: string
}

/** The open streams of this node that listen to tables, by what they have in common. */
export class Hub {
  readonly #selector: EventSelector
  readonly #log: Logger
  readonly #groups = new Map<string, Group>()
  /** Asked for with every look at the log; undefined when audiences have come or gone. */
  #tables: readonly string[] | undefined
  readonly #places = new Map<Stream, Place>()

  constructor(selector: EventSelector, log: Logger) {
    this.#selector = selector
    this.#log = log
  }

  /** What is listened to. */
  get tables(): readonly string[] {
    if (this.#tables === undefined) {
      const tables = new Set<string>()
      for (const { audience } of this.#audiences())
        for (const table of audience.subscriptions.keys()) tables.add(table)
      this.#tables = [...tables]
    }
    return this.#tables
  }

  /** Puts the stream where it belongs by its listener and subscriptions; to be called again when they change. */
  join(stream: Stream): void {
    if (!stream.isOpen || stream.subscriptions.size === 0) {
      this.leave(stream)
      return
    }
    const { scope } = stream.listener
    const place = { group: identityKey(scope), audience: subscriptionKey(stream.subscriptions) }
    const group = this.#groups.get(place.group) ?? { audiences: new Map(), told: Promise.resolve() }
    this.#groups.set(place.group, group)
    const found = group.audiences.get(place.audience)
    if (found === undefined) {
      const audience = { scope, subscriptions: stream.subscriptions }
      group.audiences.set(place.audience, { audience, streams: new Set([stream]) })
      this.#tables = undefined
    } else {
      found.streams.add(stream)
    }
    const before = this.#places.get(stream)
    this.#places.set(stream, place)
    if (before !== undefined && before.group !== place.group) {
      // As somebody else, too, the stream is told things in their order.
      const first = this.#groups.get(before.group)?.told
      group.told = Promise.all([group.told, first]).then(() => undefined)
    }
    // Only now: a group that is left by its last stream forgets what is on its way to it.
    if (before !== undefined && (before.group !== place.group || before.audience !== place.audience)) {
      this.#vacate(stream, before)
    }
  }

  leave(stream: Stream): void {
    const place = this.#places.get(stream)
    if (place === undefined) return
    this.#places.delete(stream)
    this.#vacate(stream, place)
  }

  #vacate(stream: Stream, place: Place): void {
    const group = this.#groups.get(place.group)
    const found = group?.audiences.get(place.audience)
    found?.streams.delete(stream)
    if (found?.streams.size === 0) {
      group?.audiences.delete(place.audience)
      this.#tables = undefined
    }
    if (group?.audiences.size === 0) this.#groups.delete(place.group)
  }

  /**
   * Tells every stream what it is to be told, each identity by itself.
   *
   * @param suspects tables whose events are left out, because they may mean something else by now
   * @param snapshots holds the state before the events, if it could be held
   */
  async deliver(
    batch: Batch<LogEvent>,
    suspects: ReadonlySet<string>,
    snapshots: HeldSnapshots,
  ): Promise<void> {
    const groups = [...this.#groups.values()]
    if (batch.events.length === 0) {
      for (const stream of this.#places.keys()) if (stream.underWay === 0) forgetPast(stream, batch)
      return
    }
    const audiences = [...this.#audiences()].map(({ audience }) => audience)
    const before = snapshots.at(batch.from.passed)
    const begunAt = performance.now()
    const passing = this.#selector.findPassing(batch.events, audiences)
    const told = groups.map((group) => {
      // Those who listen now: who joins later has been sent this already, or is about to be.
      const targets = [...group.audiences.values()].map(({ audience, streams }) => ({
        audience,
        streams: [...streams],
      }))
      const streams = targets.flatMap((target) => target.streams)
      return this.#enqueue(group, streams, async () => {
        const [first] = targets
        if (first === undefined) return
        const chosen = await persist(begunAt, () =>
          this.#selector.select(
            batch.events,
            first.audience.scope,
            targets.map(({ audience }) => audience),
            passing,
            suspects,
            before,
          ),
        )
        for (const target of targets) {
          const selection = chosen.get(target.audience)
          if (selection !== undefined) sendAll(target.streams, batch, selection)
        }
        for (const stream of streams) forgetPast(stream, batch)
      })
    })
    const all = Promise.all(told)
    void snapshots.during(before, all)
    await Promise.race([all, delay(patienceMs, undefined, { ref: false })])
  }

  /** Does the work in the stream's turn: after what is on its way to it, before what comes. */
  inTurn(stream: Stream, work: () => Promise<void>): Promise<void> {
    const group = this.#groups.get(this.#places.get(stream)?.group ?? '')
    return group === undefined ? Promise.resolve() : this.#enqueue(group, [stream], work)
  }

  /** Tells those who listen to one of the tables that something may be missing. @param position where it goes on */
  tellGap(tables: readonly string[], position: Position): void {
    for (const [stream] of this.#places) {
      if (!tables.some((table) => stream.subscriptions.has(table))) continue
      void this.inTurn(stream, async () => stream.gap(position))
    }
  }

  #enqueue(group: Group, streams: readonly Stream[], work: () => Promise<void>): Promise<void> {
    for (const stream of streams) {
      stream.underWay += 1
      if (stream.underWay > underWayLimit) stream.end('server_error')
    }
    group.told = group.told.then(work).then(
      () => {
        for (const stream of streams) stream.underWay -= 1
      },
      (error) => {
        // Better cut off than left with a hole: who comes back is sent what is missing.
        this.#log.warn({ reason: messageOf(error) }, 'cannot decide who may see changes; their streams end')
        for (const stream of streams) {
          stream.underWay -= 1
          stream.end('server_error')
        }
      },
    )
    return group.told
  }

  *#audiences() {
    for (const { audiences } of this.#groups.values()) yield* audiences.values()
  }
}

/** The frames are the same for all streams of one kind. */
function sendAll(streams: readonly Stream[], batch: Batch<LogEvent>, { messages, hasGap }: Selection): void {
  if (hasGap) for (const stream of streams) stream.gap(positionBehind(batch))
  if (messages.length === 0) return
  const frames = new Map<string, readonly string[]>()
  for (const stream of streams) {
    if (!stream.isOpen) continue
    if (stream.sentBefore.size > 0 || !stream.isCertain) {
      const left = messages.filter(({ index }) => !wasSent(stream, batch, index))
      stream.send(render(stream, batch, left, stream.isCertain))
      continue
    }
    let rendered = frames.get(stream.transport.name)
    if (rendered === undefined) {
      rendered = render(stream, batch, messages)
      frames.set(stream.transport.name, rendered)
    }
    stream.send(rendered)
  }
}

/**
 * Messages as the stream's client reads them.
 *
 * @param isCertain whether whoever comes back to their places misses nothing
 */
export function render(
  stream: Stream,
  batch: Batch<LogEvent>,
  messages: readonly Message[],
  isCertain = true,
): string[] {
  return messages.map(({ index, body }) => {
    const id = isCertain ? formatPosition(positionAfter(batch, index)) : undefined
    return stream.transport.frame(id, body)
  })
}

function wasSent({ sentBefore }: Stream, { events }: Batch<LogEvent>, index: number): boolean {
  const event = events[index]
  const sent = event && sentBefore.get(event.table)
  return sent !== undefined && sees(sent, event?.transactionId ?? '0')
}

/** After a step that has reached the end of a newer snapshot nothing comes that was sent before. */
function forgetPast(stream: Stream, { isComplete, target }: Batch<LogEvent>): void {
  if (!isComplete || stream.sentBefore.size === 0) return
  stream.sentBefore = new Map([...stream.sentBefore].filter(([, sent]) => !covers(target, sent)))
}
