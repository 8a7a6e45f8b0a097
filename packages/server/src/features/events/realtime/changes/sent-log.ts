import type { Logger } from 'pino'
import { deleteInBatches } from '../../../../database/delete-in-batches.ts'
import { sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import { messageOf } from '../../../../lib/errors.ts'
import type { Stream } from '../stream.ts'
import type { Subscriptions } from './audience.ts'
import type { LogEvent } from './event.ts'
import type { Message } from './select-events.ts'

/** A node writes one row of all that it has sent in so long. */
const writeMs = 1000
/** Limits of one row: events, streams that they name, and streams named for each event. */
const eventLimit = 250
const streamLimit = 500
const receiverLimit = 10

/** Events of a batch that streams of one audience were sent. */
export interface Sent {
  readonly streams: readonly Stream[]
  readonly subscriptions: Subscriptions
  /** Of the events of the batch. What was said of them may be large, and is not kept while other identities wait. */
  readonly indexes: readonly number[]
}

/** Of one event: the streams it was sent, those it was withheld from by policies or filters, and the first receivers. */
type Entry<Receiver> = readonly [sent: number, withheld: number, receivers: readonly Receiver[]]

/** Rows of their own: a client that resumes may be sent so much that nothing else would fit. */
export type Delivery = 'live' | 'missed'

/** Content of one row to come. */
interface Page {
  /** By the id of the event; receivers by their ordinal among the streams. */
  readonly entries: Map<string, Entry<number>>
  readonly streams: Map<Stream, number>
  first: bigint
  last: bigint
  /** Events between these that are not recorded. */
  dropped: number
}

export interface SentLogOptions {
  readonly database: Queryable
  readonly node: string
  /** False: nothing is recorded. */
  readonly isKept: boolean
  readonly log: Logger
}

/**
 * Records which streams were sent which event, for administrators who look for it: one row a second and node, and
 * another one while clients resume, written beside the delivery. What does not fit, or cannot be written, is counted and
 * not recorded.
 */
export class SentLog {
  readonly #options: SentLogOptions
  #pages = new Map<Delivery, Page>()
  #timer: NodeJS.Timeout | undefined
  #writing: Promise<void> = Promise.resolve()
  #isFailing = false
  #isStopped = false
  /** Events that were not recorded, since the start. */
  dropped = 0

  constructor(options: SentLogOptions) {
    this.#options = options
  }

  /**
   * Adds who was sent what of the events.
   *
   * @param passedOver by table, how many other streams listen to it that were sent nothing
   */
  record(
    delivery: Delivery,
    events: readonly LogEvent[],
    sent: readonly Sent[],
    passedOver: ReadonlyMap<string, number> = new Map(),
  ): void {
    if (!this.#options.isKept || this.#isStopped) return
    const entries = countSent(events, sent, passedOver)
    const [first, last] = [entries[0], entries.at(-1)]
    if (first === undefined || last === undefined) return
    const page = this.#extend(delivery, BigInt(first.id), BigInt(last.id))
    for (const { id, entry } of entries) {
      if (addEntry(page, id, entry)) continue
      page.dropped += 1
      this.dropped += 1
    }
    this.#writeSoon()
  }

  /** Writes what is pending. */
  async stop(): Promise<void> {
    this.#isStopped = true
    await this.#writing
    await this.#write()
    clearTimeout(this.#timer)
  }

  /** The page to come, which is about these events, too. */
  #extend(delivery: Delivery, first: bigint, last: bigint): Page {
    const page = this.#pages.get(delivery) ?? {
      entries: new Map(),
      streams: new Map(),
      first,
      last,
      dropped: 0,
    }
    this.#pages.set(delivery, page)
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
    for (const [delivery, page] of pages) {
      try {
        await insertPage(this.#options.database, this.#options.node, page)
        this.#isFailing = false
      } catch (error) {
        this.#lose(delivery, page, error)
      }
    }
    this.#timer = undefined
    // Entries that were added during the write, or whose write has failed.
    if (this.#pages.size > 0) this.#writeSoon()
  }

  /** The next row says that these are missing. */
  #lose(delivery: Delivery, { entries, first, last, dropped }: Page, error: unknown): void {
    this.dropped += entries.size
    this.#extend(delivery, first, last).dropped += dropped + entries.size
    if (!this.#isFailing)
      this.#options.log.warn(
        { reason: messageOf(error) },
        'failed to record which streams were sent what; their events have no record',
      )
    this.#isFailing = true
  }
}

/** The streams that are open still. */
export function sentTo(
  streams: readonly Stream[],
  subscriptions: Subscriptions,
  messages: readonly Message[],
): Sent {
  const indexes = messages.map(({ index }) => index)
  return { streams: streams.filter(({ isOpen }) => isOpen), subscriptions, indexes }
}

/** Events of tables that none of the streams listens to are left out. */
function countSent(
  events: readonly LogEvent[],
  sent: readonly Sent[],
  passedOver: ReadonlyMap<string, number>,
): readonly { readonly id: string; readonly entry: Entry<Stream> }[] {
  const listening = new Map(passedOver)
  const counts = new Map<number, { count: number; readonly receivers: Stream[] }>()
  for (const { streams, subscriptions, indexes } of sent) {
    for (const table of subscriptions.keys())
      listening.set(table, (listening.get(table) ?? 0) + streams.length)
    for (const index of indexes) {
      const known = counts.get(index) ?? { count: 0, receivers: [] }
      known.count += streams.length
      known.receivers.push(...streams.slice(0, receiverLimit - known.receivers.length))
      counts.set(index, known)
    }
  }
  return events.flatMap(({ id, table }, index) => {
    const all = listening.get(table) ?? 0
    const { count, receivers } = counts.get(index) ?? { count: 0, receivers: [] }
    return all === 0 ? [] : [{ id, entry: [count, all - count, receivers] as const }]
  })
}

/** Several clients that resume may be sent one event. @returns false when there is no room for another one */
function addEntry(page: Page, id: string, [sent, withheld, receivers]: Entry<Stream>): boolean {
  const known = page.entries.get(id)
  if (known === undefined && page.entries.size >= eventLimit) return false
  const [sentBefore, withheldBefore, placesBefore] = known ?? [0, 0, []]
  const places = [...placesBefore, ...receivers.flatMap((stream) => placeOf(page, stream))]
  page.entries.set(id, [sentBefore + sent, withheldBefore + withheld, places.slice(0, receiverLimit)])
  return true
}

function placeOf({ streams }: Page, stream: Stream): number | [] {
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

/** Removes what is older. */
export async function pruneSent(database: Queryable, hours: number): Promise<void> {
  await deleteInBatches(
    database,
    'realtime_sent',
    sql`recorded_at < now() - make_interval(hours => ${hours}::int)`,
  )
}
