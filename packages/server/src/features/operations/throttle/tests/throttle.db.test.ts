import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestApp, type TestApp } from '../../../../../test/test-app.ts'
import { type AttemptLimit, createThrottle, deleteEndedWindows } from '../index.ts'

let app: TestApp

beforeAll(async () => {
  app = await createTestApp()
})
afterAll(() => app[Symbol.asyncDispose]())
beforeEach(() => app.sql('delete from basalt.attempts'))

const limit: AttemptLimit = { name: 'test.attempts', attempts: 5, windowSeconds: 60 }
const throttle = () => createThrottle(app.app.database.system)

async function allowed(count: number, key: string, each: AttemptLimit = limit): Promise<number> {
  const verdicts = await Promise.all(Array.from({ length: count }, () => throttle().attempt(each, key)))
  return verdicts.filter(({ isAllowed }) => isAllowed).length
}

describe('throttle › attempts', () => {
  test('are allowed up to the limit when they are concurrent', async () => {
    expect(await allowed(40, 'a')).toBe(5)
    expect(await allowed(40, 'a')).toBe(0)
  })

  test('count separately for another key or another limit', async () => {
    await allowed(6, 'a')
    expect(await allowed(6, 'b')).toBe(5)
    expect(await allowed(6, 'a', { ...limit, name: 'test.others' })).toBe(5)
  })

  test('return the time until the window ends when they are rejected, and do not prolong it', async () => {
    await allowed(5, 'a')
    const [before] = await app.sql('select window_ends_at from basalt.attempts')
    const verdict = await throttle().attempt(limit, 'a')
    const endsAt = Math.ceil(before?.window_ends_at.getTime() / 1000)
    expect(verdict).toEqual({ isAllowed: false, attempts: 5, retryAfterSeconds: expect.any(Number), endsAt })
    const seconds = verdict.isAllowed ? 0 : verdict.retryAfterSeconds
    expect(seconds).toBeGreaterThan(30)
    expect(seconds).toBeLessThanOrEqual(60)
    expect(await app.sql('select window_ends_at from basalt.attempts')).toEqual([before])
  })

  test('restart when the window has ended', async () => {
    await allowed(9, 'a')
    await app.sql('update basalt.attempts set window_ends_at = now()')
    expect(await allowed(9, 'a')).toBe(5)
    const [{ is_open: isOpen } = {}] = await app.sql(
      `select window_ends_at between now() + '30 s' and now() + '60 s' as is_open from basalt.attempts`,
    )
    expect(isOpen).toBe(true)
  })

  test('restart after a reset, for this key only', async () => {
    await allowed(5, 'a')
    await allowed(5, 'b')
    await throttle().reset(limit, 'a')
    expect([await allowed(6, 'a'), await allowed(6, 'b')]).toEqual([5, 0])
  })

  test('return a wait of one second, not zero, a moment before the end', async () => {
    await allowed(5, 'a')
    await app.sql(`update basalt.attempts set window_ends_at = now() + '1 s'`)
    expect(await throttle().attempt(limit, 'a')).toMatchObject({ isAllowed: false, retryAfterSeconds: 1 })
  })
})

describe('throttle › check', () => {
  test('counts nothing and reports when the limit is reached', async () => {
    for (let check = 0; check < 10; check += 1) {
      expect(await throttle().check(limit, 'a')).toEqual({ isAllowed: true })
    }
    expect(await app.sql('select from basalt.attempts')).toEqual([])
    await allowed(4, 'a')
    expect(await throttle().check(limit, 'a')).toEqual({ isAllowed: true })
    await allowed(1, 'a')
    expect(await throttle().check(limit, 'a')).toEqual({
      isAllowed: false,
      attempts: 5,
      retryAfterSeconds: expect.any(Number),
      endsAt: expect.any(Number),
    })
    await app.sql('update basalt.attempts set window_ends_at = now()')
    expect(await throttle().check(limit, 'a')).toEqual({ isAllowed: true })
  })
})

test('throttle › deletes only windows that have ended', async () => {
  await allowed(1, 'past')
  await app.sql(`update basalt.attempts set window_ends_at = now() - interval '1 s'`)
  await allowed(1, 'present')
  expect(await deleteEndedWindows(app.app.database.system)).toBe(1)
  expect(await app.sql('select key from basalt.attempts')).toEqual([{ key: 'test.attempts:present' }])
})
