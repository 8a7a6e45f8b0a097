import { afterEach, describe, expect, test, vi } from 'vitest'
import { localSession } from './session.ts'

/** A storage that says what is done to it. @param limit of characters */
function stubStorage(limit = Number.POSITIVE_INFINITY) {
  const done: string[] = []
  const values = new Map<string, string>()
  vi.stubGlobal('localStorage', {
    getItem: (name: string) => values.get(name) ?? null,
    setItem(name: string, value: string) {
      if (value.length > limit) throw new DOMException('full', 'QuotaExceededError')
      done.push(`set ${value}`)
      values.set(name, value)
    },
    removeItem(name: string) {
      done.push('remove')
      values.delete(name)
    },
  })
  return { done, values }
}

afterEach(() => void vi.unstubAllGlobals())

describe('a session in localStorage', () => {
  test('is replaced in one step: other tabs see no sign-out between', async () => {
    const { done } = stubStorage()
    const session = localSession('s')
    await session.save('one')
    await session.save('two')
    await session.save(null)
    expect(done).toEqual(['set one', 'set two', 'remove'])
  })

  test('that the storage does not take is kept by the page, and the one before is gone for other tabs', async () => {
    const { done, values } = stubStorage(3)
    const session = localSession('s')
    await session.save('one')
    await session.save('three')
    expect([await session.load(), values.size, done]).toEqual(['three', 0, ['set one', 'remove']])
    await session.save('two')
    expect([await session.load(), values.get('s')]).toEqual(['two', 'two'])
  })

  test('where there is no browser, is watched by no one', async () => {
    vi.stubGlobal('addEventListener', undefined)
    vi.stubGlobal('removeEventListener', undefined)
    const session = localSession('s')
    session.watch?.(() => undefined)()
    await session.save('one')
    expect(await session.load()).toBe('one')
  })
})
