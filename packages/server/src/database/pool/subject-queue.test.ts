import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import {
  type QueueTicket,
  SubjectQueue,
  type SubjectQueueOptions,
  type WaitingEntry,
} from './subject-queue.ts'
import { SubjectQuotas } from './subject-quotas.ts'

interface Entry extends WaitingEntry {
  readonly id: number
}

const measured: SubjectQueueOptions = { isMeasured: () => true, servedTogether: () => 0 }

const subject = fc.constantFrom('a', 'b', 'c', 'd', undefined)
const steps = fc.array(
  fc.oneof(
    { weight: 6, arbitrary: fc.record({ kind: fc.constant('push' as const), subject }) },
    { weight: 4, arbitrary: fc.record({ kind: fc.constant('take' as const), also: subject }) },
    { weight: 2, arbitrary: fc.record({ kind: fc.constant('acquire' as const), subject }) },
    fc.record({ kind: fc.constant('release' as const), subject }),
    fc.record({ kind: fc.constant('remove' as const), index: fc.nat(40) }),
    fc.record({ kind: fc.constant('removeWhere' as const), divisor: fc.integer({ min: 2, max: 5 }) }),
  ),
  { maxLength: 120 },
)

describe('subject queue', () => {
  test('serves entries in the order of arrival, if their subject is below its quota', () => {
    fc.assert(
      fc.property(steps, (sequence) => {
        // The quota of a subject is two connections.
        const quotas = new SubjectQuotas(3)
        const queue = new SubjectQueue<Entry>(quotas, measured)
        const tickets: QueueTicket<Entry>[] = []
        let model: Entry[] = []
        const held: (string | undefined)[] = []
        const isReady = (entry: Entry) => quotas.admits(entry.subject)
        for (const step of sequence) {
          if (step.kind === 'push') {
            const entry = { id: tickets.length, subject: step.subject, since: 0 }
            model.push(entry)
            tickets.push(queue.push(entry))
          } else if (step.kind === 'take') {
            const expected = model.find(
              (entry) => isReady(entry) || (step.also !== undefined && entry.subject === step.also),
            )
            expect(queue.take(0, step.also)).toBe(expected)
            model = model.filter((entry) => entry !== expected)
          } else if (step.kind === 'acquire') {
            quotas.acquire(step.subject)
            held.push(step.subject)
          } else if (step.kind === 'release') {
            if (!held.includes(step.subject)) continue
            held.splice(held.indexOf(step.subject), 1)
            quotas.release(step.subject)
          } else if (step.kind === 'remove') {
            const ticket = tickets[step.index]
            if (ticket === undefined) continue
            queue.remove(ticket)
            model = model.filter(({ id }) => id !== step.index)
          } else {
            const isDue = ({ id }: Entry) => id % step.divisor === 0
            const removed = queue.removeWhere(isDue).map(({ id }) => id)
            expect(removed.toSorted((one, other) => one - other)).toEqual(
              model.filter(isDue).map(({ id }) => id),
            )
            model = model.filter((entry) => !isDue(entry))
          }
          const ready = model.filter(isReady)
          expect(queue.length).toBe(model.length)
          expect(queue.readyCount).toBe(ready.length)
          expect(queue.firstReady).toBe(ready[0])
          const isOld = ({ id }: Entry) => id < 20
          expect(queue.countReady(isOld, 5)).toBe(Math.min(ready.filter(isOld).length, 5))
        }
      }),
      { numRuns: 500 },
    )
  })

  /** Fills a queue and serves an entry after each interval until 1000 entries are left. */
  function serve(
    options: SubjectQueueOptions,
    ...intervals: readonly number[]
  ): { queue: SubjectQueue<WaitingEntry>; now: number } {
    const queue = new SubjectQueue<WaitingEntry>(new SubjectQuotas(4), options)
    for (let count = 0; count < intervals.length + 1000; count += 1) queue.push({ subject: 'a', since: 0 })
    let now = 0
    for (const interval of intervals) {
      now += interval
      queue.take(now)
    }
    return { queue, now }
  }

  const times = (count: number, interval: number) => Array.from({ length: count }, () => interval)

  test('derives the expected wait from the rate at which a subject is served', () => {
    const { queue } = serve(measured, ...times(1000, 2))
    expect(queue.expectedWaitMs('a')).toBeCloseTo(2000, -2)
    queue.push({ subject: 'b', since: 0 })
    expect(queue.expectedWaitMs('b')).toBeUndefined()
  })

  test('does not know the wait of a subject that has waited for a lock from the start', () => {
    expect(serve(measured).queue.expectedWaitMs('a')).toBeUndefined()
    expect(serve(measured, 4000, ...times(20, 1)).queue.expectedWaitMs('a')).toBeUndefined()
  })

  test('keeps the previous rate while a subject waits for a lock', () => {
    const { queue } = serve(measured, ...times(1000, 2), 10_000, ...times(20, 2))
    expect(queue.expectedWaitMs('a')).toBeCloseTo(2000, -2)
  })

  test('follows a subject that is served more slowly than before', () => {
    const { queue } = serve(measured, ...times(1000, 2), ...times(100, 100))
    expect(queue.expectedWaitMs('a')).toBeGreaterThan(90_000)
  })

  test('removes the entries that have waited too long, or would', () => {
    const { queue, now } = serve(measured, ...times(1000, 2))
    // All 1000 have waited for two seconds, and half of them would be served within the next one.
    expect(queue.removeOverdue(now, 3000)).toHaveLength(500)
    expect(queue.removeOverdue(now + 1000, 3000)).toHaveLength(500)
    expect(queue.length).toBe(0)
  })

  test('expects no wait for as many entries as are served at once', () => {
    const { queue, now } = serve({ ...measured, servedTogether: () => 900 }, ...times(1000, 2))
    expect(queue.expectedWaitMs('a')).toBeCloseTo(200, -1)
    expect(queue.removeOverdue(now, 2100)).toHaveLength(50)
  })

  test('keeps an entry that is not measured until its time is over', () => {
    const { queue, now } = serve({ ...measured, isMeasured: () => false }, ...times(1000, 2))
    expect(queue.expectedWaitMs('a')).toBeUndefined()
    expect(queue.removeOverdue(now, 2001)).toHaveLength(0)
    expect(queue.removeOverdue(now, 2000)).toHaveLength(1000)
  })
})
