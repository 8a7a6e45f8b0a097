import { setImmediate as nextTurn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { OperationQueue } from './operation-queue.ts'

function createQueue() {
  const calls: string[] = []
  const queue = new OperationQueue({
    pause: () => void calls.push('pause'),
    resume: () => void calls.push('resume'),
  })
  const started: number[] = []
  const ends: (() => void)[] = []
  const add = (number: number) =>
    queue.add(() => {
      started.push(number)
      const { promise, resolve } = Promise.withResolvers<void>()
      ends.push(resolve)
      return promise
    })
  return { calls, started, ends, add }
}

const numbers = (count: number) => Array.from({ length: count }, (_, index) => index)

test('operation queue › runs 16 at once, lets 250 wait and rejects the rest', () => {
  const { started, add } = createQueue()
  expect(numbers(300).map((number) => add(number))).toEqual(numbers(300).map((number) => number < 266))
  expect(started).toEqual(numbers(16))
})

test('operation queue › starts waiting operations in order, and pauses reading while many wait', async () => {
  const { calls, started, ends, add } = createQueue()
  for (const number of numbers(47)) add(number)
  expect(calls).toEqual([])
  add(47)
  expect(calls).toEqual(['pause'])
  const end = async (number: number) => {
    ends[number]?.()
    await nextTurn()
  }
  for (const number of numbers(23)) await end(number)
  expect(calls).toEqual(['pause'])
  await end(23)
  expect([started, calls]).toEqual([numbers(40), ['pause', 'resume']])
})
