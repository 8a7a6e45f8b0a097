import { httpErrors } from '../../../http/errors/errors.ts'
import { clientSignal } from '../../../http/requests/client-presence.ts'
import type { AppError } from '../../../lib/errors.ts'
import { LinkedQueue } from '../../../lib/linked-queue.ts'

/** Slots that limit concurrent work per key. Waiting work runs in the order of arrival. */
export interface Slots {
  /**
   * Runs work in a slot.
   *
   * @param signal ends the wait; by default that of the client whose request this is
   * @throws AppError too_many_requests, or the given error, when the queue is full or the wait was aborted
   */
  take<Result>(key: string, width: number, work: () => Promise<Result>, signal?: AbortSignal): Promise<Result>
}

export interface SlotOptions {
  /** Maximum length of the queue. Beyond it, callers should retry later. */
  readonly longestQueue?: number
  readonly createRefusal?: () => AppError
}

interface Queue {
  running: number
  readonly waiting: LinkedQueue<() => void>
}

export function createSlots({
  longestQueue = 250,
  createRefusal = httpErrors.tooManyRequests,
}: SlotOptions = {}): Slots {
  const queues = new Map<string, Queue>()

  function wait(queue: Queue, signal: AbortSignal | undefined): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const begin = () => {
      signal?.removeEventListener('abort', abort)
      resolve()
    }
    const abort = () => {
      queue.waiting.remove(position)
      reject(createRefusal().retryAfter(2))
    }
    const position = queue.waiting.push(begin)
    if (signal?.aborted === true) abort()
    else signal?.addEventListener('abort', abort, { once: true })
    return promise
  }

  return {
    async take(key, width, work, signal) {
      const queue = queues.get(key) ?? { running: 0, waiting: new LinkedQueue() }
      queues.set(key, queue)
      if (queue.running < width) {
        queue.running += 1
      } else {
        if (queue.waiting.length >= longestQueue) {
          throw createRefusal().retryAfter(2)
        }
        await wait(queue, signal ?? clientSignal())
      }
      try {
        return await work()
      } finally {
        // The slot goes to the next in the queue, or is freed.
        const next = queue.waiting.shift()
        if (next !== undefined) next()
        else queue.running -= 1
        if (queue.running === 0) queues.delete(key)
      }
    },
  }
}
