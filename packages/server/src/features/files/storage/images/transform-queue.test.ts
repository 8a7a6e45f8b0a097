import { setImmediate as nextTurn } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { createManualTimer } from '../../../../../test/manual-timer.ts'
import { TransformQueue } from './transform-queue.ts'

const megapixel = 1_000_000

/** Creates a queue whose jobs run until the test ends them. */
function createQueue(width = 1) {
  const timer = createManualTimer()
  const queue = new TransformQueue(width, timer)
  const begun: string[] = []
  const ends = new Map<string, () => void>()
  const refused: string[] = []
  function add(name: string, object: string, caller: string, megapixels = 1) {
    const leave = new AbortController()
    const transform = {
      ...{ object, callers: new Set([caller]), signal: leave.signal },
      pixels: megapixels * megapixel,
    }
    queue
      .run(transform, async () => {
        begun.push(name)
        await new Promise<void>((resolve) => ends.set(name, resolve))
      })
      .catch((error) => {
        expect(error).toMatchObject({ kind: 'images_busy', extras: { headers: { 'retry-after': '10' } } })
        refused.push(name)
      })
    return { leave: () => leave.abort() }
  }
  async function end(name: string) {
    await nextTurn()
    ends.get(name)?.()
    await nextTurn()
  }
  return { queue, timer, begun, refused, add, end }
}

describe('storage › images › the queue', () => {
  test('serves the object and caller next that have used the fewest pixels', async () => {
    const { begun, add, end } = createQueue()
    for (const name of ['a1', 'a2', 'a3']) add(name, 'large', 'mallory', 64)
    add('b1', 'small', 'alice')
    add('b2', 'large', 'alice')
    add('b3', 'other', 'mallory')
    for (const name of ['a1', 'b1', 'b2', 'b3', 'a2']) await end(name)
    // Each caller gets the first picture of its own object before the expensive object gets another one.
    expect(begun.slice(0, 2)).toEqual(['a1', 'b1'])
    expect(begun.at(-1)).toBe('a3')
  })

  test('makes one at a time of one object', async () => {
    const { begun, add, end } = createQueue(2)
    add('a1', 'a', 'alice')
    add('a2', 'a', 'bob')
    add('b1', 'b', 'alice')
    await nextTurn()
    expect(begun).toEqual(['a1', 'b1'])
    await end('a1')
    expect(begun).toEqual(['a1', 'b1', 'a2'])
  })

  test('drops what no client waits for any more, and begins nothing of it', async () => {
    const { begun, refused, add, end } = createQueue()
    add('a1', 'a', 'mallory')
    const others = Array.from({ length: 30 }, (_, index) => add(`m${index}`, `object ${index}`, 'mallory'))
    add('b1', 'b', 'alice')
    for (const { leave } of others) leave()
    await end('a1')
    expect(begun).toEqual(['a1', 'b1'])
    expect(refused).toHaveLength(30)
  })

  test('refuses what cannot begin in ten seconds', async () => {
    const { timer, begun, refused, add, end } = createQueue()
    add('a1', 'a', 'alice')
    add('a2', 'a', 'alice')
    expect(await timer.runNext(9_999, 60_000)).toBe(false)
    expect(refused).toEqual([])
    expect(await timer.runNext(10_000, 60_000)).toBe(true)
    await nextTurn()
    expect(refused).toEqual(['a2'])
    await end('a1')
    expect(begun).toEqual(['a1'])
  })

  test('takes 256 megapixels of one object and 1,024 of one caller', async () => {
    const { refused, add } = createQueue()
    for (let index = 0; index < 5; index += 1) add(`a${index}`, 'a', `caller ${index}`, 64)
    for (let index = 0; index < 17; index += 1) add(`b${index}`, `b ${index}`, 'mallory', 64)
    await nextTurn()
    expect(refused).toEqual(['a4', 'b16'])
  })

  test('refuses a transform of the account with the most waiting pixels beyond 64 waiting transforms', async () => {
    const { refused, add } = createQueue()
    add('running', 'x', 'x')
    for (let index = 0; index < 63; index += 1) add(`m${index}`, `m ${index}`, 'mallory', 2)
    add('b1', 'b', 'alice')
    add('b2', 'c', 'bob')
    await nextTurn()
    expect(refused).toEqual(['m62'])
  })
})
