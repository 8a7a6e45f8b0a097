import { expect, test } from 'vitest'
import { Restarts, steadyMs } from './restarts.ts'

const crash = { livedMs: 500, isWaiting: false }
const refusal = { livedMs: 500, isWaiting: true }

test('restarts of a worker › wait longer each time, and end after five crashes in a row', () => {
  const restarts = new Restarts()
  expect(Array.from({ length: 5 }, () => restarts.next(crash))).toEqual([100, 1000, 2000, 4000, undefined])
})

test('restarts of a worker › resume quickly after a worker that has served', () => {
  const restarts = new Restarts()
  for (let end = 0; end < 4; end += 1) restarts.next(crash)
  expect(restarts.next({ ...crash, livedMs: steadyMs })).toBe(100)
  expect(restarts.next(crash)).toBe(1000)
})

test('restarts of a worker › continue while starts are refused and other workers serve, every 30 s at the longest', () => {
  const restarts = new Restarts()
  const delays = Array.from({ length: 9 }, () => restarts.next(refusal))
  expect(delays).toEqual([100, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000])
})
