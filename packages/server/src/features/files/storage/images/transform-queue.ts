import { systemTimer, type Timer } from '../../../../lib/timer.ts'
import { storageErrors } from '../errors.ts'

/** Transform to be made, with the callers that wait for it. */
export interface QueuedTransform {
  /** The object that it is made of. */
  readonly object: string
  /** Callers that wait for it; others may be added. */
  readonly callers: ReadonlySet<string>
  /** Number of pixels of the source. */
  readonly pixels: number
  /** Aborted when no client waits for it any more. */
  readonly signal: AbortSignal
}

interface Waiting extends QueuedTransform {
  readonly begin: () => void
  readonly refuse: () => void
}

/** A client waits no longer for the beginning. */
const longestWaitMs = 10_000
/** Transforms that wait, of everybody. */
const waitingLimit = 64
/** Pixels of the transforms that wait and run of one object: four of the largest sources. */
const objectPixelLimit = 256_000_000
/** The same of one caller, whose page may show many pictures. */
const callerPixelLimit = 1024_000_000
/** Half-life of the used pixels in milliseconds. */
const halfLifeMs = 10_000

/**
 * Queue of transforms. The object and the caller with the fewest recently used pixels go next, so that a caller of many
 * transforms delays only itself. Each object has at most one running transform.
 */
export class TransformQueue {
  readonly #width: number
  readonly #timer: Timer
  #waiting: Waiting[] = []
  readonly #running = new Set<QueuedTransform>()
  readonly #used = new Map<string, number>()
  #decayedAt: number
  #isStopped = false

  constructor(width: number, timer: Timer = systemTimer) {
    this.#width = width
    this.#timer = timer
    this.#decayedAt = timer.now()
  }

  /**
   * Runs the work when it is due.
   *
   * @throws AppError images_busy when too much waits, it could not begin in ten seconds, or no client waits any more
   */
  async run<Result>(transform: QueuedTransform, work: () => Promise<Result>): Promise<Result> {
    await this.#wait(transform)
    try {
      return await work()
    } finally {
      this.#running.delete(transform)
      this.#next()
    }
  }

  /** Refuses what waits and what comes. */
  stop(): void {
    this.#isStopped = true
    for (const { refuse } of [...this.#waiting]) refuse()
  }

  #wait(transform: QueuedTransform): Promise<void> {
    const { signal } = transform
    if (this.#isStopped || signal.aborted || this.#exceedsBudget(transform)) {
      return Promise.reject(busy())
    }
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const leave = () => {
      this.#waiting = this.#waiting.filter((each) => each !== waiting)
      cancel()
      signal.removeEventListener('abort', refuse)
    }
    const refuse = () => {
      leave()
      reject(busy())
    }
    const waiting: Waiting = {
      ...transform,
      begin: () => {
        leave()
        this.#running.add(transform)
        this.#use(transform)
        resolve()
      },
      refuse,
    }
    const cancel = this.#timer.after(longestWaitMs, refuse)
    signal.addEventListener('abort', refuse)
    this.#waiting.push(waiting)
    this.#next()
    // The one that has the most waiting makes way for the others.
    if (this.#waiting.length > waitingLimit) this.#findLargest()?.refuse()
    return promise
  }

  #next(): void {
    while (this.#running.size < this.#width) {
      const busyObjects = new Set([...this.#running].map(({ object }) => object))
      const due = this.#waiting.filter(({ object }) => !busyObjects.has(object))
      const next = minimumBy(due, (each) => this.#costOf(each, (account) => this.#usedBy(account)))
      if (next === undefined) return
      next.begin()
    }
  }

  #findLargest(): Waiting | undefined {
    // Among equal ones the latest is chosen: it has waited for the shortest time.
    return minimumBy(
      this.#waiting.toReversed(),
      (each) => -this.#costOf(each, (account) => this.#pending(account)),
    )
  }

  /** Returns the higher cost of two: that of the object and that of the caller with the lowest cost. */
  #costOf({ object, callers }: QueuedTransform, of: (account: string) => number): number {
    return Math.max(of(objectAccount(object)), Math.min(...[...callers].map(of)))
  }

  #exceedsBudget({ object, callers, pixels }: QueuedTransform): boolean {
    const isBeyond = (account: string, limit: number) => this.#pending(account) + pixels > limit
    return (
      isBeyond(objectAccount(object), objectPixelLimit) ||
      [...callers].some((caller) => isBeyond(caller, callerPixelLimit))
    )
  }

  /** Returns the pixels that wait or run for an account. */
  #pending(account: string): number {
    return [...this.#waiting, ...this.#running]
      .filter(({ object, callers }) => objectAccount(object) === account || callers.has(account))
      .reduce((sum, { pixels }) => sum + pixels, 0)
  }

  #use({ object, callers, pixels }: QueuedTransform): void {
    for (const account of [objectAccount(object), ...callers]) {
      this.#used.set(account, this.#usedBy(account) + pixels)
    }
  }

  #usedBy(account: string): number {
    const halves = Math.floor((this.#timer.now() - this.#decayedAt) / halfLifeMs)
    if (halves > 0) {
      this.#decayedAt += halves * halfLifeMs
      for (const [each, pixels] of this.#used) {
        const left = Math.floor(pixels / 2 ** halves)
        if (left === 0) this.#used.delete(each)
        else this.#used.set(each, left)
      }
    }
    return this.#used.get(account) ?? 0
  }
}

/** Returns the account of an object. It differs from all callers, whose names hold no blank. */
function objectAccount(object: string): string {
  return `object ${object}`
}

function busy() {
  return storageErrors.imagesBusy().retryAfter(longestWaitMs / 1000)
}

/** Returns the first item with the smallest value. */
function minimumBy<Item>(items: readonly Item[], measure: (item: Item) => number): Item | undefined {
  let smallest: Item | undefined
  let least = Number.POSITIVE_INFINITY
  for (const item of items) {
    const value = measure(item)
    if (value >= least) continue
    smallest = item
    least = value
  }
  return smallest
}
