import { DatabaseError } from 'pg'
import { describe, expect, test, vi } from 'vitest'
import { TaskQueue } from '../lib/task-queue.ts'
import { WriteBehind, type WriteBehindOptions } from './write-behind.ts'

function open(options: Partial<WriteBehindOptions<string>> = {}) {
  const written: (readonly string[])[] = []
  const failures: unknown[] = []
  const queue = new WriteBehind<string>({
    createBatch: () => [],
    write: async (entries) => {
      written.push([...entries])
    },
    lane: new TaskQueue(),
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

describe('write-behind › queue', () => {
  test('is written in batches, in order', async () => {
    const { queue, written } = open()
    for (const entry of ['a', 'b', 'c', 'd']) queue.add(entry)
    await queue.flush()
    expect(written).toEqual([['a', 'b', 'c'], ['d']])
  })

  test('is written when a batch is full, and the rest when it is due', async () => {
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

  test('is bounded: while nothing can be written, excess entries are dropped and counted', async () => {
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

  test('collects entries in full batches while nothing can be written', async () => {
    let isAvailable = false
    const kept: (readonly string[])[] = []
    const { queue } = open({
      capacity: 100,
      write: async (entries) => {
        if (!isAvailable) throw new Error('unavailable')
        kept.push([...entries])
      },
    })
    for (const entry of ['a', 'b', 'c', 'd', 'e', 'f']) {
      queue.add(entry)
      await queue.flush()
    }
    isAvailable = true
    await queue.stop()
    expect(kept).toEqual([['a'], ['b', 'c', 'd'], ['e', 'f']])
    expect(queue.dropped).toBe(0)
  })

  test('drops an entry that the database rejects, and no other', async () => {
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

  test('refills a batch once it is written, not before', async () => {
    let isAvailable = false
    let created = 0
    const kept: string[] = []
    const { queue } = open({
      capacity: 100,
      createBatch: () => {
        created += 1
        return Object.assign([] as string[], {
          clear(this: string[]) {
            this.length = 0
          },
        })
      },
      write: async (entries) => {
        if (!isAvailable) throw new Error('unavailable')
        kept.push(...entries)
      },
    })
    for (const entry of ['a', 'b', 'c', 'd', 'e', 'f', 'g']) queue.add(entry)
    await queue.flush()
    expect(created).toBe(4)
    isAvailable = true
    await queue.flush()
    for (const entry of ['h', 'i', 'j', 'k', 'l', 'm', 'n']) queue.add(entry)
    await queue.flush()
    expect(kept).toEqual([...'abcdefghijklmn'])
    expect(created).toBe(4)
  })

  test('is written when it stops although the first write fails', async () => {
    let attempts = 0
    const kept: string[] = []
    const { queue } = open({
      write: async (entries) => {
        attempts += 1
        if (attempts === 1) throw new Error('busy')
        kept.push(...entries)
      },
    })
    queue.add('a')
    await queue.stop()
    expect([kept, queue.dropped]).toEqual([['a'], 0])
  })

  test('is written when it stops; entries that cannot be written then are counted as dropped', async () => {
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

describe('write-behind › open statement', () => {
  /** Opens a queue whose statements write all of their entries or nothing. */
  function openFollowing(options: Partial<WriteBehindOptions<string>> = {}) {
    const statements: string[][] = []
    const ended: string[][] = []
    const queue = open({
      batchSize: 2,
      capacity: 100,
      followMs: 60_000,
      write: async (entries, more) => {
        const taken = [...entries]
        statements.push(taken)
        for await (const chunk of more) taken.push(...chunk)
        ended.push(taken)
      },
      ...options,
    })
    return { ...queue, statements, ended }
  }

  test('takes entries as they arrive, and ends when few do', async () => {
    const { queue, statements, ended } = openFollowing()
    for (const entry of ['a', 'b']) queue.add(entry)
    await vi.waitFor(() => expect(statements).toEqual([['a', 'b']]))
    for (const entry of ['c', 'd', 'e', 'f', 'g']) queue.add(entry)
    await vi.waitFor(() => expect(ended).toEqual([['a', 'b', 'c', 'd', 'e', 'f']]))
    await queue.flush()
    expect(statements).toEqual([['a', 'b', 'c', 'd', 'e', 'f'], ['g']])
  })

  test('takes at most half of the capacity, as all of it stays queued until it is committed', async () => {
    const { queue, statements } = openFollowing({ capacity: 12 })
    for (let count = 0; count < 12; count += 1) queue.add(String(count))
    await queue.flush()
    expect(statements.map((entries) => entries.length)).toEqual([6, 6])
    expect(queue.dropped).toBe(0)
  })

  test('ends when its time is up', async () => {
    const { queue, statements } = openFollowing({ followMs: 0 })
    for (const entry of ['a', 'b', 'c', 'd']) queue.add(entry)
    await queue.flush()
    expect(statements).toEqual([
      ['a', 'b'],
      ['c', 'd'],
    ])
  })

  test('ends when other work waits for the lane', async () => {
    const lane = new TaskQueue()
    const { queue, statements } = openFollowing({ lane })
    for (const entry of ['a', 'b', 'c', 'd']) queue.add(entry)
    const order: string[] = []
    const other = lane.add(async () => {
      order.push(`other work after ${statements.length} statement`)
    })
    await Promise.all([queue.flush(), other])
    expect(statements).toEqual([
      ['a', 'b'],
      ['c', 'd'],
    ])
    expect(order).toEqual(['other work after 1 statement'])
  })

  test('is written again as a whole after a failure, by a statement of its own', async () => {
    let attempts = 0
    const kept: string[][] = []
    const { queue } = openFollowing({
      write: async (entries, more) => {
        attempts += 1
        const taken = [...entries]
        for await (const chunk of more) taken.push(...chunk)
        if (attempts === 1) throw new Error('unavailable')
        kept.push(taken)
      },
    })
    for (const entry of ['a', 'b', 'c', 'd']) queue.add(entry)
    await vi.waitFor(() => expect(attempts).toBe(1))
    await queue.flush()
    await queue.flush()
    expect(kept).toEqual([
      ['a', 'b'],
      ['c', 'd'],
    ])
  })

  test('drops only the entry that the database rejects, even one of a later batch', async () => {
    const kept: string[] = []
    const { queue } = openFollowing({
      write: async (entries, more) => {
        const taken = [...entries]
        for await (const chunk of more) taken.push(...chunk)
        if (taken.includes('bad')) throw refusal()
        kept.push(...taken)
      },
    })
    for (const entry of ['a', 'b', 'c', 'bad', 'd', 'e']) queue.add(entry)
    await queue.flush()
    expect(kept).toEqual(['a', 'b', 'c', 'd', 'e'])
    expect(queue.dropped).toBe(1)
  })

  test('ends when the queue stops, and the rest is written', async () => {
    const { queue, statements } = openFollowing()
    for (const entry of ['a', 'b', 'c', 'd', 'e']) queue.add(entry)
    await queue.stop()
    expect(statements).toEqual([['a', 'b'], ['c', 'd'], ['e']])
    expect(queue.dropped).toBe(0)
  })
})

describe('write-behind › lane', () => {
  test('runs one work at a time, also after one that failed', async () => {
    const lane = new TaskQueue()
    const events: string[] = []
    const work = (name: string, isGood: boolean) =>
      lane.add(async () => {
        events.push(`${name} begins`)
        await Promise.resolve()
        events.push(`${name} ends`)
        if (!isGood) throw new Error(name)
      })
    await Promise.allSettled([work('one', false), work('two', true)])
    expect(events).toEqual(['one begins', 'one ends', 'two begins', 'two ends'])
  })
})
