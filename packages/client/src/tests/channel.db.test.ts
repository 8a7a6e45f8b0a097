import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest'
import { faultsOf } from '../../../server/test/faults.ts'
import { createTcpProxy } from '../../../server/test/tcp-proxy.ts'
import { createTestApp, type TestApp } from '../../../server/test/test-app.ts'
import { waitFor } from '../../../server/test/wait-for.ts'
import { type Auth, createAuth } from '../auth/index.ts'
import { createClient } from '../index.ts'
import { type Channel, type ChannelListener, joinChannel } from '../realtime/index.ts'
import { collectReports } from './harness.ts'

const password = 'correct horse battery staple'
let app: TestApp
/** Account of Ada. */
let auth: Auth
let ada: ReturnType<typeof createClient>
let bob: ReturnType<typeof createClient>

beforeAll(async () => {
  app = await createTestApp({})
})
beforeEach(async () => {
  auth = createAuth({ url: app.url })
  ada = await signUp(auth)
  bob = await signUp(createAuth({ url: app.url }))
})
afterAll(async () => {
  expect(faultsOf(app)).toEqual([])
  await app[Symbol.asyncDispose]()
})

async function signUp(auth: Auth) {
  await auth.signUp({ email: `${randomUUID()}@example.com`, password })
  return createClient({ url: app.url, auth })
}

/** Joins a channel as another user and records what it receives. */
async function listenTo(name: string) {
  const received: unknown[] = []
  const channel = joinChannel(bob, name, { onBroadcast: ({ event }) => received.push(event) })
  await channel.track({})
  return { received, leave: channel.leave }
}

const refused = (message: string) => ({ name: 'BasaltError', error: 'channel_refused', status: 0, message })

describe('channel', () => {
  test('is joined at once after the only other channel was left', async () => {
    const first = joinChannel(ada, randomUUID(), {})
    await first.track({})
    const name = randomUUID()
    const other = await listenTo(name)
    const disconnections: unknown[] = []
    first.leave()
    const second = joinChannel(ada, name, { onDisconnected: (error) => disconnections.push(error) })
    await second.broadcast('after', {})
    await waitFor('the broadcast', () => other.received.length === 1)
    expect(disconnections).toEqual([])
    second.leave()
    other.leave()
  })

  test('is joined again after its connection was silently dropped', async () => {
    await using proxy = await createTcpProxy(Number(new URL(app.url).port))
    const away = createClient({ url: `http://127.0.0.1:${proxy.port}`, auth })
    vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
    try {
      const events: string[] = []
      const name = randomUUID()
      const channel = joinChannel(away, name, {
        onConnected: () => events.push('connected'),
        onDisconnected: (error) => events.push(String((error as { error?: string }).error)),
        onBroadcast: ({ event }) => events.push(event),
      })
      await channel.track({})
      const other = joinChannel(bob, name, {})
      await other.track({})
      // A connection that replies stays open.
      for (let round = 0; round < 3; round += 1) {
        vi.advanceTimersByTime(30_000)
        await channel.untrack()
      }
      expect(events).toEqual(['connected'])
      proxy.freezePresent()
      vi.advanceTimersByTime(60_000)
      await waitFor('the next connection', () => events.length === 3)
      expect(events).toEqual(['connected', 'socket_1006', 'connected'])
      await other.broadcast('after', {})
      await waitFor('the broadcast', () => events.at(-1) === 'after')
      channel.leave()
      other.leave()
    } finally {
      vi.useRealTimers()
    }
  })

  test('rejects pending and later calls after it was left or refused', async () => {
    const left = joinChannel(ada, randomUUID(), {})
    const waiting = [left.broadcast('early', {}), left.track({})]
    left.leave()
    for (const call of [...waiting, left.broadcast('late', {}), left.untrack()])
      await expect(call).rejects.toMatchObject(refused('the channel was left'))
    const errors: unknown[] = []
    const nameless = joinChannel(ada, '', { onDisconnected: (error) => errors.push(error) })
    for (let round = 0; round < 2; round += 1)
      await expect(nameless.broadcast('said', {})).rejects.toMatchObject(refused('channel is required'))
    expect(errors).toMatchObject([refused('channel is required')])
    nameless.leave()
  })

  test('stays joined when a presence is rejected, and does not send it again', async () => {
    const send = vi.spyOn(WebSocket.prototype, 'send')
    try {
      const events: string[] = []
      const channel = joinChannel(ada, randomUUID(), {
        onConnected: () => events.push('connected'),
        onDisconnected: () => events.push('disconnected'),
      })
      const large = refused('presence payload exceeds 4096 bytes')
      const tracks = () =>
        send.mock.calls.flatMap(([text]) => {
          const { type, presence } = JSON.parse(String(text))
          return type === 'presence_track' ? [presence] : []
        })
      await expect(channel.track({ a: 'x'.repeat(4096) })).rejects.toMatchObject(large)
      expect([events, tracks()]).toEqual([['connected'], [{ a: 'x'.repeat(4096) }]])
      send.mockClear()
      await auth.signUp({ email: `${randomUUID()}@example.com`, password })
      await waitFor('the next connection', () => events.length === 3)
      await channel.broadcast('after', {})
      expect([events, tracks()]).toEqual([['connected', 'disconnected', 'connected'], []])
      await channel.track({ name: 'Ada' })
      expect(tracks()).toEqual([{ name: 'Ada' }])
      await auth.signUp({ email: `${randomUUID()}@example.com`, password })
      await waitFor('the third connection', () => events.length === 5)
      await waitFor('the presence', () => tracks().length === 2)
      expect(tracks()).toEqual([{ name: 'Ada' }, { name: 'Ada' }])
      channel.leave()
    } finally {
      send.mockRestore()
    }
  })

  test('is not called any more after the listener of another channel left it', async () => {
    const name = randomUUID()
    const calls: string[] = []
    const called = (what: string) => () => void calls.push(what)
    const left = { onBroadcast: called('left: broadcast'), onDisconnected: called('left: disconnected') }
    const leavesAt = (what: string, other: () => Channel) => () => {
      calls.push(what)
      other().leave()
    }
    const first = joinChannel(ada, name, { onBroadcast: leavesAt('first: broadcast', () => second) })
    const second = joinChannel(ada, name, left)
    const third = joinChannel(ada, name, { onDisconnected: leavesAt('third: disconnected', () => fourth) })
    const fourth = joinChannel(ada, randomUUID(), left)
    await Promise.all([first, second, third, fourth].map((channel) => channel.track({})))
    const speaker = joinChannel(bob, name, {})
    await speaker.broadcast('said', {})
    await waitFor('the broadcast', () => calls.length > 0)
    // Another user needs another connection.
    await auth.signUp({ email: `${randomUUID()}@example.com`, password })
    await waitFor('the break', () => calls.length > 1)
    await third.broadcast('again', {})
    for (const channel of [second, fourth])
      await expect(channel.broadcast('late', {})).rejects.toMatchObject(refused('the channel was left'))
    for (const channel of [first, third, speaker]) channel.leave()
    expect(calls).toEqual(['first: broadcast', 'third: disconnected'])
  })

  test('continues when its listeners throw, and reports their errors', async () => {
    using reports = collectReports()
    const fail = (what: string) => () => {
      throw new Error(`${what} failed`)
    }
    const failing: ChannelListener = {
      onConnected: fail('onConnected'),
      onBroadcast: fail('onBroadcast'),
      onPresence: fail('onPresence'),
      onDisconnected: fail('onDisconnected'),
    }
    const name = randomUUID()
    const channel = joinChannel(ada, name, failing)
    const received: string[] = []
    const beside = joinChannel(ada, name, { onBroadcast: ({ event }) => received.push(event) })
    await channel.track({})
    const other = await listenTo(name)
    const speaker = joinChannel(bob, name, {})
    await speaker.broadcast('first', {})
    await waitFor('the broadcast', () => received.includes('first'))
    const reported = (what: string) =>
      reports.errors.some((error) => (error as Error).message === `${what} failed`)
    await waitFor('the reports', () => ['onConnected', 'onPresence', 'onBroadcast'].every(reported))
    await channel.broadcast('answer', {})
    await waitFor('the answer', () => other.received.includes('answer'))
    // Another user needs another connection.
    await auth.signUp({ email: `${randomUUID()}@example.com`, password })
    await waitFor('the report of the break', () => reported('onDisconnected'))
    await channel.broadcast('again', {})
    await waitFor('the broadcast as another user', () => other.received.includes('again'))
    for (const each of [channel, beside, other, speaker]) each.leave()
    const what = new Set(reports.errors.map((error) => (error as Error).message))
    expect([...what].sort()).toEqual([
      'onBroadcast failed',
      'onConnected failed',
      'onDisconnected failed',
      'onPresence failed',
    ])
  })
})
