import { expect, test } from 'vitest'
import { PositionHistory } from './position-history.ts'

test('returns the time since the primary was last at the position or before it', () => {
  const history = new PositionHistory(1000)
  expect(history.ageOf(5n, 0)).toBe(Number.POSITIVE_INFINITY)
  history.add(10n, 100)
  history.add(20n, 200)
  history.add(30n, 300)
  expect([9n, 10n, 25n, 30n, 99n].map((position) => history.ageOf(position, 310))).toEqual([
    Number.POSITIVE_INFINITY,
    210,
    110,
    10,
    10,
  ])
})

test('regards a replica as current while the primary is idle', () => {
  const history = new PositionHistory(1000)
  for (const at of [0, 500, 1000, 1500, 2000]) history.add(10n, at)
  expect(history.ageOf(10n, 2010)).toBe(10)
})

test('drops samples beyond its age, and all of them when the log of the primary is shorter', () => {
  const history = new PositionHistory(1000)
  history.add(10n, 0)
  history.add(20n, 2000)
  expect(history.ageOf(15n, 2000)).toBe(Number.POSITIVE_INFINITY)
  history.add(5n, 2100)
  expect([history.ageOf(4n, 2100), history.ageOf(20n, 2100)]).toEqual([Number.POSITIVE_INFINITY, 0])
})
