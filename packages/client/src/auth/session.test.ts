import { afterEach, describe, expect, test, vi } from 'vitest'
import { createAuth } from './index.ts'
import { cookieSession, localSession } from './session.ts'

/** Stubs `localStorage` and records what is done to it. @param limit longest value that it accepts, in characters */
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

describe('localSession', () => {
  test('replaces a session in one step, so that other tabs see no sign-out', async () => {
    const { done } = stubStorage()
    const session = localSession('s')
    await session.save('one')
    await session.save('two')
    await session.save(null)
    expect(done).toEqual(['set one', 'set two', 'remove'])
  })

  test('keeps a session in the page if the storage rejects it, and removes the previous one', async () => {
    const { done, values } = stubStorage(3)
    const session = localSession('s')
    await session.save('one')
    await session.save('three')
    expect([await session.load(), values.size, done]).toEqual(['three', 0, ['set one', 'remove']])
    await session.save('two')
    expect([await session.load(), values.get('s')]).toEqual(['two', 'two'])
  })

  test('is shared by all clients of the page', async () => {
    stubStorage()
    const page = new EventTarget()
    vi.stubGlobal('addEventListener', page.addEventListener.bind(page))
    vi.stubGlobal('dispatchEvent', page.dispatchEvent.bind(page))
    const user = { id: '1', email: 'ada@example.com' }
    const fetch = async () => Response.json({ token: 'a', refreshToken: 'b', user })
    const open = () => createAuth({ url: 'http://localhost', storage: localSession(), fetch })
    const [first, second] = [open(), open()]
    await second.load()
    await first.signIn({ email: user.email, password: 'secret' })
    await expect.poll(() => second.identity()).toBe(user.id)
    await first.signOut().catch(() => undefined)
    await expect.poll(() => second.current).toBeUndefined()
  })

  test('has no session outside of a page', async () => {
    const auth = createAuth({ url: 'http://localhost', storage: localSession() })
    auth.subscribe(() => undefined)()
    expect([await auth.load(), await auth.finishRedirect()]).toEqual([undefined, undefined])
  })
})

test('cookieSession › ignores a cookie that is not a session', async () => {
  for (const value of ['%E0%A4%A', '', 'null', '{}', undefined]) {
    const storage = cookieSession({ get: () => value, set: () => undefined })
    expect(await createAuth({ url: 'http://localhost', storage }).load()).toBeUndefined()
  }
})

test('createAuth › renews a token of some seconds after half of its lifetime, not before each request', async () => {
  let refreshes = 0
  let now = 0
  const claims = btoa(JSON.stringify({ iat: 100, exp: 120 }))
  const fetch = async (address: unknown) => {
    if (String(address).endsWith('/refresh')) refreshes += 1
    return Response.json({ token: `.${claims}.${refreshes}`, refreshToken: 'b', user: { id: '1' } })
  }
  const auth = createAuth({ url: 'http://localhost', fetch, now: () => now })
  await auth.signIn({ email: 'ada@example.com', password: 'secret' })
  for (const [at, expected] of [
    [9000, 0],
    [11_000, 1],
    [12_000, 1],
  ] as const) {
    now = at
    await auth.token()
    expect(refreshes, String(at)).toBe(expected)
  }
})
