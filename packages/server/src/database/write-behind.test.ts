import { DatabaseError } from 'pg'
import { describe, expect, test, vi } from 'vitest'
import { createLane, WriteBehind, type WriteBehindOptions } from './write-behind.ts'

function open(options: Partial<WriteBehindOptions<string>> = {}) {
  const written: (readonly string[])[] = []
  const failures: unknown[] = []
  const queue = new WriteBehind<string>({
    write: async (entries) => {
      written.push([...entries])
    },
    lane: createLane(),
    everyMs: 3_600_000,
    batchSize: 3,
    capacity: 5,
    onFailure: (error) => failures.push(error),
    ...options,
  })
  return { queue, written, failures }
}

function refusal(): DatabaseError {
  return Object.assign(new DatabaseError('invalid input', 0, 'error'), { code: '22P02' })
}

describe('write-behind › a queue', () => {
  test('is written in batches, in order', async () => {
    const { queue, written } = open()
    for (const entry of ['a', 'b', 'c', 'd']) queue.add(entry)
    await queue.flush()
    expect(written).toEqual([['a', 'b', 'c'], ['d']])
  })

  test('is written when a batch is full, and the rest when it is time', async () => {
    const { queue, written } = open({ capacity: 100 })
    for (const entry of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) queue.add(entry)
    await vi.waitFor(() =>
      expect(written).toEqual([
        ['a', 'b', 'c'],
        ['d', 'e', 'f'],
      ]),
    )
    await queue.flush()
    expect(written.slice(2)).toEqual([['g']])
  })

  test('waits for its time after a failure, and is then written without loss', async () => {
    let attempts = 0
    const kept: string[] = []
    const { queue } = open({
      capacity: 100,
      write: async (entries) => {
        attempts += 1
        if (attempts === 1) throw new Error('unavailable')
        kept.push(...entries)
      },
    })
    const entries = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h']
    for (const entry of entries.slice(0, 3)) queue.add(entry)
    await vi.waitFor(() => expect(attempts).toBe(1))
    for (const entry of entries.slice(3)) queue.add(entry)
    expect(attempts).toBe(1)
    await queue.flush()
    expect(kept).toEqual(entries)
  })

  test('is bounded: what exceeds it is dropped and counted, while nothing can be written', async () => {
    let isAvailable = false
    const kept: string[] = []
    const { queue, failures } = open({
      write: async (entries) => {
        if (!isAvailable) throw new Error('unavailable')
        kept.push(...entries)
      },
    })
    for (let count = 0; count < 8; count += 1) {
      queue.add(String(count))
      await queue.flush()
    }
    expect(queue.dropped).toBe(3)
    expect(failures).toHaveLength(1)
    isAvailable = true
    await queue.flush()
    expect(kept).toEqual(['0', '1', '2', '3', '4'])
  })

  test('drops an entry that the database refuses, and no other', async () => {
    const kept: string[] = []
    const { queue, failures } = open({
      batchSize: 5,
      write: async (entries) => {
        if (entries.includes('bad')) throw refusal()
        kept.push(...entries)
      },
    })
    for (const entry of ['a', 'b', 'bad', 'c', 'd']) queue.add(entry)
    await queue.flush()
    expect(kept).toEqual(['a', 'b', 'c', 'd'])
    expect([queue.dropped, failures.length]).toEqual([1, 0])
  })

  test('is written when it stops; what cannot be written then is counted as dropped', async () => {
    const good = open()
    good.queue.add('a')
    await good.queue.stop()
    expect(good.written).toEqual([['a']])
    const bad = open({ write: () => Promise.reject(new Error('unavailable')) })
    bad.queue.add('a')
    await bad.queue.stop()
    bad.queue.add('late')
    expect(bad.queue.dropped).toBe(2)
  })
})

describe('write-behind › a lane', () => {
  test('runs one work at a time, also after one that failed', async () => {
    const lane = createLane()
    const events: string[] = []
    const work = (name: string, isGood: boolean) =>
      lane(async () => {
        events.push(`${name} begins`)
        await Promise.resolve()
        events.push(`${name} ends`)
        if (!isGood) throw new Error(name)
      })
    await Promise.allSettled([work('one', false), work('two', true)])
    expect(events).toEqual(['one begins', 'one ends', 'two begins', 'two ends'])
  })
})
