import type { Logger } from 'pino'
import { deleteInBatches } from '../../../../database/delete-in-batches.ts'
import { sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import { messageOf } from '../../../../lib/errors.ts'
import type { Stream } from '../stream.ts'
import type { Subscriptions } from './audience.ts'
import type { LogEvent } from './event.ts'
import type { Message } from './select-events.ts'

/** Milliseconds between two rows that a node writes about the events it has sent. */
const writeMs = 1000
/** Limits of one row: events, streams that they name, and streams named for each event. */
const eventLimit = 250
const streamLimit = 500
const receiverLimit = 10

/** Events of a batch that streams of one audience received. */
export interface AudienceDelivery {
  readonly streams: readonly Stream[]
  readonly subscriptions: Subscriptions
  /** Indexes of the events in the batch. Their messages may be large and are not kept while other identities wait. */
  readonly indexes: readonly number[]
}

/**
 * Record of one event: the number of streams that received it, the number of streams without it because of policies or
 * filters, and the first receivers.
 */
type Entry<Receiver> = readonly [sent: number, withheld: number, receivers: readonly Receiver[]]

/** Kind of delivery, with rows of its own. A resuming client may receive so much that nothing else would fit. */
export type DeliveryKind = 'live' | 'missed'

/** Content of one row to be written. */
interface Page {
  /** Entries by the id of the event. Receivers are ordinals among the streams. */
  readonly entries: Map<string, Entry<number>>
  readonly streams: Map<Stream, number>
  first: bigint
  last: bigint
  /** Number of events between these that are not recorded. */
  dropped: number
}

export interface SentLogOptions {
  readonly database: Queryable
  readonly node: string
  /** False if nothing is recorded. */
  readonly isEnabled: boolean
  readonly log: Logger
}

/**
 * Log of the streams that received each event. Administrators use it to trace events. A node writes one row a second, and
 * another one while clients resume, beside the delivery. Events that do not fit or cannot be written are counted and
 * not recorded.
 */
export class SentLog {
  readonly #options: SentLogOptions
  #pages = new Map<DeliveryKind, Page>()
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> = Promise.resolve()
  #isFailing = false
  #isStopped = false
  /** Number of events that were not recorded, since startup. */
  dropped = 0

  constructor(options: SentLogOptions) {
    this.#options = options
  }

  /**
   * Adds the deliveries of the events.
   *
   * @param skipped by table, the number of other subscribed streams that received nothing
   */
  record(
    kind: DeliveryKind,
    events: readonly LogEvent[],
    sent: readonly AudienceDelivery[],
    skipped: ReadonlyMap<string, number> = new Map(),
  ): void {
    if (!this.#options.isEnabled || this.#isStopped) return
    const entries = countSent(events, sent, skipped)
    const [first, last] = [entries[0], entries.at(-1)]
    if (first === undefined || last === undefined) return
    const page = this.#extend(kind, BigInt(first.id), BigInt(last.id))
    for (const { id, entry } of entries) {
      if (addEntry(page, id, entry)) continue
      page.dropped += 1
      this.dropped += 1
    }
    this.#writeSoon()
  }

  /** Writes pending entries and stops. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#writing
    await this.#write()
    clearTimeout(this.#timer)
  }

  /** Returns the current page, extended to these events. */
  #extend(kind: DeliveryKind, first: bigint, last: bigint): Page {
    const page = this.#pages.get(kind) ?? {
      entries: new Map(),
      streams: new Map(),
      first,
      last,
      dropped: 0,
    }
    this.#pages.set(kind, page)
    if (first < page.first) page.first = first
    if (last > page.last) page.last = last
    return page
  }

  #writeSoon(): void {
    this.#timer ??= setTimeout(() => {
      this.#writing = this.#write()
    }, writeMs).unref()
  }

  async #write(): Promise<void> {
    const pages = this.#pages
    this.#pages = new Map()
    for (const [kind, page] of pages) {
      try {
        await insertPage(this.#options.database, this.#options.node, page)
        this.#isFailing = false
      } catch (error) {
        this.#drop(kind, page, error)
      }
    }
    this.#timer = undefined
    // These are entries that were added during the write, or whose write has failed.
    if (this.#pages.size > 0) this.#writeSoon()
  }

  /** Counts the entries as dropped, so that the next row says that they are missing. */
  #drop(kind: DeliveryKind, { entries, first, last, dropped }: Page, error: unknown): void {
    this.dropped += entries.size
    this.#extend(kind, first, last).dropped += dropped + entries.size
    if (!this.#isFailing)
      this.#options.log.warn(
        { reason: messageOf(error) },
        'failed to record which streams received events; these events have no record',
      )
    this.#isFailing = true
  }
}

/** Returns the delivery to the streams that are still open. */
export function deliveryTo(
  streams: readonly Stream[],
  subscriptions: Subscriptions,
  messages: readonly Message[],
): AudienceDelivery {
  const indexes = messages.map(({ index }) => index)
  return { streams: streams.filter(({ isOpen }) => isOpen), subscriptions, indexes }
}

/** Counts deliveries by event. Skips events of tables without a subscribed stream. */
function countSent(
  events: readonly LogEvent[],
  sent: readonly AudienceDelivery[],
  skipped: ReadonlyMap<string, number>,
): readonly { readonly id: string; readonly entry: Entry<Stream> }[] {
  const subscribed = new Map(skipped)
  const counts = new Map<number, { count: number; readonly receivers: Stream[] }>()
  for (const { streams, subscriptions, indexes } of sent) {
    for (const table of subscriptions.keys())
      subscribed.set(table, (subscribed.get(table) ?? 0) + streams.length)
    for (const index of indexes) {
      const known = counts.get(index) ?? { count: 0, receivers: [] }
      known.count += streams.length
      known.receivers.push(...streams.slice(0, receiverLimit - known.receivers.length))
      counts.set(index, known)
    }
  }
  return events.flatMap(({ id, table }, index) => {
    const all = subscribed.get(table) ?? 0
    const { count, receivers } = counts.get(index) ?? { count: 0, receivers: [] }
    return all === 0 ? [] : [{ id, entry: [count, all - count, receivers] as const }]
  })
}

/** Adds an entry. Several clients that resume may receive the same event. @returns false if the page is full */
function addEntry(page: Page, id: string, [sent, withheld, receivers]: Entry<Stream>): boolean {
  const known = page.entries.get(id)
  if (known === undefined && page.entries.size >= eventLimit) return false
  const [sentBefore, withheldBefore, positionsBefore] = known ?? [0, 0, []]
  const positions = [...positionsBefore, ...receivers.flatMap((stream) => positionOf(page, stream))]
  page.entries.set(id, [sentBefore + sent, withheldBefore + withheld, positions.slice(0, receiverLimit)])
  return true
}

function positionOf({ streams }: Page, stream: Stream): number | [] {
  const known = streams.get(stream)
  if (known !== undefined) return known
  if (streams.size >= streamLimit) return []
  streams.set(stream, streams.size)
  return streams.size - 1
}

async function insertPage(database: Queryable, node: string, page: Page): Promise<void> {
  const streams = [...page.streams.keys()].map(({ id, transport, listener: { userId, scope, token } }) => [
    id,
    transport.name,
    scope.kind === 'caller'
      ? 'user'
      : scope.kind === 'anonymous'
        ? 'anonymous'
        : token === undefined
          ? 'open'
          : 'admin',
    userId ?? null,
  ])
  await database.count(sql`
    insert into basalt.realtime_sent (node, events, entries, streams, dropped)
    values (${node}::uuid, int8range(${page.first.toString()}::int8, ${page.last.toString()}::int8, '[]'),
      ${JSON.stringify(Object.fromEntries(page.entries))}::jsonb, ${JSON.stringify(streams)}::jsonb,
      ${page.dropped}::int)`)
}

/** Removes records older than the given hours. */
export async function pruneSent(database: Queryable, hours: number): Promise<void> {
  await deleteInBatches(
    database,
    'realtime_sent',
    sql`recorded_at < now() - make_interval(hours => ${hours}::int)`,
  )
}
