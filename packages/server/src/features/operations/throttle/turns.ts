import { httpErrors } from '../../../http/errors.ts'

/** Runs work of one key a few at a time, in the order it came. */
export interface Turns {
  /** @throws AppError too_many_requests when too many wait already */
  take<Result>(key: string, width: number, work: () => Promise<Result>): Promise<Result>
}

/** A caller that would wait behind more than this had better retry. */
const longestLine = 250

export function createTurns(): Turns {
  const lines = new Map<string, { running: number; readonly waiting: (() => void)[] }>()
  return {
    async take(key, width, work) {
      const line = lines.get(key) ?? { running: 0, waiting: [] }
      lines.set(key, line)
      if (line.running < width) {
        line.running += 1
      } else {
        if (line.waiting.length >= longestLine) {
          throw httpErrors.tooManyRequests().retryAfter(2)
        }
        await new Promise<void>((resolve) => line.waiting.push(resolve))
      }
      try {
        return await work()
      } finally {
        // The slot goes to the next in the queue, or is freed.
        const next = line.waiting.shift()
        if (next !== undefined) next()
        else line.running -= 1
        if (line.running === 0) lines.delete(key)
      }
    },
  }
}
