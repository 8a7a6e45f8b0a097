import { setImmediate as nextTask } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { collectGarbage, type IdleCheck, isWorthCollecting } from './idle-memory.ts'

const mebibyte = 1024 * 1024
const grown: IdleCheck = {
  workedPart: 0.01,
  used: 60 * mebibyte,
  size: 110 * mebibyte,
  sizeBefore: 50 * mebibyte,
}

test('idle memory › is collected after the heap has grown', () => {
  expect(isWorthCollecting(grown)).toBe(true)
  expect(isWorthCollecting({ ...grown, sizeBefore: 105 * mebibyte })).toBe(false)
})

test('idle memory › is not collected while the process works', () => {
  expect(isWorthCollecting({ ...grown, workedPart: 0.2 })).toBe(false)
})

test('idle memory › is not collected from a heap that takes long', () => {
  expect(isWorthCollecting({ ...grown, used: 400 * mebibyte, size: 500 * mebibyte })).toBe(false)
})

test('idle memory › is free after a collection', async () => {
  const garbage = new WeakRef({ text: 'of no use' })
  // A new weak reference keeps its object until the current task ends.
  await nextTask()
  collectGarbage()
  expect(garbage.deref()).toBeUndefined()
  expect('gc' in globalThis).toBe(false)
})
