import { LinkedQueue, type QueueNode } from '../../lib/linked-queue.ts'
import { DrainRate } from './drain-rate.ts'
import { type HeapMember, LaneHeap } from './lane-heap.ts'
import type { SubjectQuotas } from './subject-quotas.ts'

/** Entry that waits in a {@link SubjectQueue}. */
export interface WaitingEntry {
  /** Time of its arrival, as of `performance.now()`. */
  readonly since: number
  /** Subject of its work, such as a relation, for which connections are limited. */
  readonly subject: string | undefined
}

export interface SubjectQueueOptions {
  /** Returns true if entries of the subject are rejected when they would not be served in time. */
  readonly isMeasured: (subject: string | undefined) => boolean
  /**
   * Returns how many entries can be served at once. So many never wait for each other. Without this allowance a
   * queue that rejects entries would be served as slowly as it is filled.
   */
  readonly servedTogether: () => number
}

interface Item<Entry> {
  readonly entry: Entry
  /** Position of its arrival among all entries. */
  readonly order: number
}

/** Entries of one subject. */
interface Lane<Entry> extends HeapMember {
  readonly subject: string | undefined
  readonly items: LinkedQueue<Item<Entry>>
  /** Undefined where the subject is not measured. */
  readonly rate: DrainRate | undefined
}

/** Waiting entry of a {@link SubjectQueue}. */
export interface QueueTicket<Entry> {
  readonly lane: Lane<Entry>
  readonly node: QueueNode<Item<Entry>>
}

/**
 * Queue in the order of arrival that skips subjects at their quota. The cost of a step does not depend on the
 * number of entries. It grows with the number of subjects alone, as a logarithm.
 */
export class SubjectQueue<Entry extends WaitingEntry> {
  readonly #quotas: Pick<SubjectQuotas, 'admits'>
  readonly #options: SubjectQueueOptions
  /** Lanes that have entries. */
  readonly #lanes = new Map<string | undefined, Lane<Entry>>()
  /** Lanes among those whose subjects are below their quotas. */
  readonly #ready = new LaneHeap<Lane<Entry>>()
  #arrivals = 0
  #length = 0
  #readyCount = 0

  constructor(quotas: Pick<SubjectQuotas, 'admits' | 'onChange'>, options: SubjectQueueOptions) {
    this.#quotas = quotas
    this.#options = options
    quotas.onChange((subject) => this.#update(this.#lanes.get(subject)))
  }

  get length(): number {
    return this.#length
  }

  /** Number of entries whose subjects are below their quotas. */
  get readyCount(): number {
    return this.#readyCount
  }

  /** Number of entries whose subjects have reached their quotas. */
  get blockedCount(): number {
    return this.#length - this.#readyCount
  }

  /** Entry that is served next. */
  get firstReady(): Entry | undefined {
    return this.#ready.first?.items.first?.entry
  }

  /**
   * Counts the ready entries that pass the test, up to the limit. Older entries must pass it before younger
   * ones.
   */
  countReady(test: (entry: Entry) => boolean, limit: number): number {
    let count = 0
    for (const { items } of this.#ready.members) {
      for (const { entry } of items) {
        if (count >= limit) return count
        if (!test(entry)) break
        count += 1
      }
    }
    return count
  }

  /**
   * Returns the milliseconds that a further entry of the subject would wait; undefined while that is unknown.
   */
  expectedWaitMs(subject: string | undefined): number | undefined {
    const lane = this.#lanes.get(subject)
    return lane?.rate?.timeFor(this.#waitFor(lane.items.length))
  }

  push(entry: Entry): QueueTicket<Entry> {
    const { subject } = entry
    let lane = this.#lanes.get(subject)
    const isNew = lane === undefined
    if (lane === undefined) {
      const rate = this.#options.isMeasured(subject) ? new DrainRate() : undefined
      lane = { subject, items: new LinkedQueue(), rate, order: 0, heapIndex: -1 }
      this.#lanes.set(subject, lane)
    }
    this.#arrivals += 1
    const node = lane.items.push({ entry, order: this.#arrivals })
    this.#length += 1
    if (lane.heapIndex !== -1) this.#readyCount += 1
    if (isNew) {
      lane.order = this.#arrivals
      this.#update(lane)
    }
    return { lane, node }
  }

  /**
   * Removes the oldest entry that is ready.
   *
   * @param now as of `performance.now()`
   * @param also a subject whose entries count as ready
   */
  take(now: number, also?: string): Entry | undefined {
    const first = this.#ready.first
    const further = also === undefined ? undefined : this.#lanes.get(also)
    const lane =
      further !== undefined && (first === undefined || further.order < first.order) ? further : first
    const item = lane?.items.shift()
    if (lane === undefined || item === undefined) return undefined
    lane.rate?.count(now)
    this.#afterRemoval(lane, 1)
    return item.entry
  }

  /** Removes an entry, unless it was removed before. */
  remove({ lane, node }: QueueTicket<Entry>): void {
    if (lane.items.remove(node)) this.#afterRemoval(lane, 1)
  }

  /**
   * Removes the entries that have waited for the timeout, or would before they are served. It walks over all
   * entries.
   */
  removeOverdue(now: number, timeoutMs: number): Entry[] {
    return this.#removeEach((rate) => {
      let ahead = 0
      return ({ since }) => {
        const isOverdue = now - since + (rate?.timeFor(this.#waitFor(ahead)) ?? 0) >= timeoutMs
        if (!isOverdue) ahead += 1
        return isOverdue
      }
    })
  }

  /** Removes the entries that pass the test, by a walk over all. */
  removeWhere(test: (entry: Entry) => boolean): Entry[] {
    return this.#removeEach(() => test)
  }

  /** Removes entries by a test. @param testFor makes the test for the entries of one subject */
  #removeEach(testFor: (rate: DrainRate | undefined) => (entry: Entry) => boolean): Entry[] {
    return [...this.#lanes.values()].flatMap((lane) => {
      const test = testFor(lane.rate)
      const removed = lane.items.removeWhere(({ entry }) => test(entry))
      this.#afterRemoval(lane, removed.length)
      return removed.map(({ entry }) => entry)
    })
  }

  /** Returns how many of the entries ahead must be served before a further one. */
  #waitFor(ahead: number): number {
    return Math.max(ahead - this.#options.servedTogether(), 0)
  }

  #afterRemoval(lane: Lane<Entry>, count: number): void {
    this.#length -= count
    const isReady = lane.heapIndex !== -1
    if (isReady) this.#readyCount -= count
    const { first } = lane.items
    if (first === undefined) {
      this.#lanes.delete(lane.subject)
      if (isReady) this.#ready.remove(lane)
    } else if (first.order !== lane.order) {
      lane.order = first.order
      if (isReady) this.#ready.sink(lane)
    }
  }

  /** Moves a lane into the ready lanes, or out of them. */
  #update(lane: Lane<Entry> | undefined): void {
    if (lane === undefined) return
    const isReady = this.#quotas.admits(lane.subject)
    if (isReady === (lane.heapIndex !== -1)) return
    if (isReady) this.#ready.add(lane)
    else this.#ready.remove(lane)
    this.#readyCount += isReady ? lane.items.length : -lane.items.length
  }
}
