import { expect, test } from 'vitest'
import { createSlots } from './slots.ts'

/** Creates work that ends on request. */
function openWork(log: string[]) {
  const ends = new Map<string, () => void>()
  return {
    work: (name: string) => () => {
      log.push(name)
      return new Promise<string>((resolve) => ends.set(name, () => resolve(name)))
    },
    async end(name: string) {
      ends.get(name)?.()
      await new Promise((resolve) => setImmediate(resolve))
    },
  }
}

test('slots › run a few of one key at once, the others in the order of arrival', async () => {
  const slots = createSlots()
  const log: string[] = []
  const { work, end } = openWork(log)
  const all = ['a', 'b', 'c', 'd'].map((name) => slots.take('key', 2, work(name)))
  const other = slots.take('other key', 2, work('x'))
  expect(log).toEqual(['a', 'b', 'x'])
  await end('b')
  expect(log).toEqual(['a', 'b', 'x', 'c'])
  await end('a')
  expect(log).toEqual(['a', 'b', 'x', 'c', 'd'])
  for (const name of ['c', 'd', 'x']) await end(name)
  expect(await Promise.all([...all, other])).toEqual(['a', 'b', 'c', 'd', 'x'])
})

test('slots › are freed when work fails', async () => {
  const slots = createSlots()
  const failing = async () => {
    throw new Error('no')
  }
  const failures = Array.from({ length: 5 }, () => slots.take('key', 1, failing))
  for (const failure of failures) await expect(failure).rejects.toThrow('no')
  expect(await slots.take('key', 1, async () => 'yes')).toBe('yes')
})

test('slots › reject work beyond a full queue', async () => {
  const slots = createSlots()
  const { work, end } = openWork([])
  const first = slots.take('key', 1, work('first'))
  const waiting = Array.from({ length: 250 }, () => slots.take('key', 1, async () => 'done'))
  await expect(slots.take('key', 1, async () => 'done')).rejects.toMatchObject({
    kind: 'too_many_requests',
    extras: { headers: { 'retry-after': '2' } },
  })
  await end('first')
  expect(await first).toBe('first')
  expect(new Set(await Promise.all(waiting))).toEqual(new Set(['done']))
})

test('slots › are freed by an aborted wait, whose work does not start', async () => {
  const slots = createSlots({ longestQueue: 2 })
  const log: string[] = []
  const { work, end } = openWork(log)
  const first = slots.take('key', 1, work('a'))
  const leaving = new AbortController()
  const second = slots.take('key', 1, work('b'), leaving.signal)
  const third = slots.take('key', 1, work('c'))
  leaving.abort()
  await expect(second).rejects.toMatchObject({ kind: 'too_many_requests' })
  const fourth = slots.take('key', 1, work('d'))
  for (const name of ['a', 'c', 'd']) await end(name)
  expect(log).toEqual(['a', 'c', 'd'])
  expect(await Promise.all([first, third, fourth])).toEqual(['a', 'c', 'd'])
})
