import { httpErrors } from '../../../http/errors/errors.ts'
import type { AppError } from '../../../lib/errors.ts'

/** Runs work of one key a few at a time, in the order it came. */
export interface Slots {
  /** @throws AppError too_many_requests, or the error given, when too many wait already */
  take<Result>(key: string, width: number, work: () => Promise<Result>): Promise<Result>
}

export interface SlotOptions {
  /** A caller that would wait behind more than this had better retry. */
  readonly longestQueue?: number
  readonly createRefusal?: () => AppError
}

export function createSlots({
  longestQueue = 250,
  createRefusal = httpErrors.tooManyRequests,
}: SlotOptions = {}): Slots {
  const queues = new Map<string, { running: number; readonly waiting: (() => void)[] }>()
  return {
    async take(key, width, work) {
      const queue = queues.get(key) ?? { running: 0, waiting: [] }
      queues.set(key, queue)
      if (queue.running < width) {
        queue.running += 1
      } else {
        if (queue.waiting.length >= longestQueue) {
          throw createRefusal().retryAfter(2)
        }
        await new Promise<void>((resolve) => queue.waiting.push(resolve))
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
