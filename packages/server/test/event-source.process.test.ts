import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Browser, chromium, startBrowser } from './chromium.ts'
import { alice } from './fixtures.ts'
import { sendRequest } from './send-request.ts'
import { type ServerProcess, startServer } from './server-process.ts'
import { userToken } from './test-app.ts'
import { findFreePort, startThrowAwayCluster, type ThrowAwayCluster } from './throw-away-cluster.ts'
import { waitFor } from './wait-for.ts'

const token = userToken({ sub: alice })

/** Behaviour of the browser itself: no test reopens a stream. */
describe.runIf(chromium !== undefined)('EventSource of a browser', () => {
  let cluster: ThrowAwayCluster
  let port: number
  let server: ServerProcess
  let browser: Browser

  beforeAll(async () => {
    cluster = await startThrowAwayCluster()
    await cluster.sql('postgres', 'create database shop')
    await cluster.sql('shop', 'create table item (id int primary key)')
    port = await findFreePort()
    server = await start()
    browser = await startBrowser(chromium ?? '')
    await browser.evaluate(`
      window.sources = {}
      window.listen = (name) => {
        const source = new EventSource('${server.url}/api/realtime?tables=item&token=${token}')
        const seen = { source, ids: [], closes: [], connected: 0 }
        source.onmessage = ({ data }) => seen.ids.push(JSON.parse(data).record.id)
        source.addEventListener('connected', () => { seen.connected += 1 })
        source.addEventListener('close', ({ data }) => seen.closes.push(JSON.parse(data)))
        sources[name] = seen
      }`)
  })
  afterAll(async () => {
    await browser?.[Symbol.asyncDispose]()
    await server?.[Symbol.asyncDispose]()
    await cluster?.[Symbol.asyncDispose]()
  })

  function start(): Promise<ServerProcess> {
    return startServer({
      config: {
        'database.url': `${cluster.url}/shop`,
        'database.require_rls': 'false',
        'server.port': String(port),
      },
    })
  }

  interface Seen {
    readonly state: number
    readonly ids: readonly number[]
    readonly reasons: readonly string[]
    readonly waits: readonly number[]
    readonly connected: number
  }
  const see = (name: string) =>
    browser.evaluate<Seen>(`(({ source, ids, closes, connected }) => ({
      state: source.readyState, ids, connected,
      reasons: closes.map(({ reason }) => reason), waits: closes.map(({ retryMs }) => retryMs)
    }))(sources[${JSON.stringify(name)}])`)
  const listen = (name: string) => browser.evaluate(`listen(${JSON.stringify(name)})`)
  const untilConnected = (name: string, count = 1) =>
    waitFor(`${name} to be connected`, async () => {
      const seen = await see(name)
      // 2 means closed for good.
      if (seen.state === 2) throw new Error('the browser has given up')
      return seen.connected >= count && seen.state === 1
    })
  const create = (id: number) =>
    sendRequest('POST', `${server.url}/api/collections/item`, { token, body: { id } })

  test('survives a restart, also when it was opened during the drain', async () => {
    await listen('before')
    await untilConnected('before')
    server.signal('SIGTERM')
    await waitFor('the end of the stream', async () => (await see('before')).reasons.length === 1)
    await listen('draining')
    await waitFor('the refusal', async () => (await see('draining')).reasons.length > 0)
    expect(await server.ended).toEqual({ code: 0, signal: null })
    server = await start()
    await untilConnected('before', 2)
    await untilConnected('draining')
    await create(1)
    const [before, draining] = await Promise.all(
      ['before', 'draining'].map((name) =>
        waitFor('the change', async () => {
          const seen = await see(name)
          return seen.ids.length > 0 ? seen : undefined
        }),
      ),
    )
    expect(before).toMatchObject({ ids: [1], reasons: ['server_shutdown'] })
    expect(draining?.ids).toEqual([1])
    expect(new Set(draining?.reasons)).toEqual(new Set(['shutting_down']))
    for (const wait of [...(before?.waits ?? []), ...(draining?.waits ?? [])]) {
      expect(wait).toBeGreaterThanOrEqual(1000)
      expect(wait).toBeLessThanOrEqual(3000)
    }
  })

  test('survives a short outage of the database', async () => {
    await listen('open')
    await untilConnected('open')
    await cluster.stop('fast')
    await listen('refused')
    await waitFor('the refusal', async () => (await see('refused')).reasons.includes('database_unavailable'))
    await cluster.start()
    await Promise.all([untilConnected('open'), untilConnected('refused')])
    await waitFor('a write', async () => (await create(2)).status === 201)
    await waitFor('the change', async () => {
      const seen = await Promise.all(['open', 'refused'].map(see))
      return seen.every(({ ids }) => ids.includes(2))
    })
  })

  test('closes for good after an invalid token', async () => {
    await browser.evaluate(
      `sources.ended = { source: new EventSource('${server.url}/api/realtime?tables=item&token=x'), ids: [], closes: [], connected: 0 }`,
    )
    await waitFor('the end', async () => (await see('ended')).state === 2)
    expect(await see('ended')).toMatchObject({ reasons: [], connected: 0 })
  })
})
