import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { alice } from '../../../../../test/fixtures.ts'
import type { Receiver } from '../../../../../test/receiver.ts'
import { userToken } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import { createWebhooksApp, type WebhooksApp } from '../../../../../test/webhooks.ts'

/** Responses of the test’s name server by host, one after the other. The last one stays. */
const addresses = new Map<string, string[]>()

let hooks: WebhooksApp
let receiver: Receiver
let port: string

beforeAll(async () => {
  hooks = await createWebhooksApp({
    setup: 'create table item (id int primary key)',
    // This is a public server: private targets are not allowed unless the configuration allows them.
    config: { 'server.public_base_url': 'https://api.example.com' },
    async resolve(hostname) {
      const remaining = addresses.get(hostname) ?? []
      const address = remaining.length > 1 ? remaining.shift() : remaining[0]
      if (address === undefined) throw Object.assign(new Error('not found'), { code: 'ENOTFOUND' })
      return [{ address, family: address.includes(':') ? 6 : 4 }]
    },
  })
  receiver = await hooks.receiver()
  port = new URL(receiver.url).port
})
afterAll(() => hooks[Symbol.asyncDispose]())
beforeEach(async () => {
  addresses.clear()
  await hooks.app.sql('delete from basalt.webhooks; delete from item')
  await hooks.settle()
})

const refused = 'the address is not one that requests may be sent to'

describe('webhooks › private targets of a public server', () => {
  test.each([
    'http://127.0.0.1:1/',
    'http://[::1]:1/',
    'http://10.1.2.3/',
    'http://192.168.0.1/',
    'http://2130706433/',
    'http://0x7f000001/',
    'http://017700000001/',
    'http://[::ffff:10.0.0.1]/',
    'http://[64:ff9b::a00:1]/',
    'http://[2002:a00:1::]/',
    'http://[fd00::1]/',
    'http://100.64.0.1/',
  ])('%s is rejected at once', async (url) => {
    const { status, json } = await hooks.send('POST', 'webhooks', { url })
    expect([status, json.error]).toEqual([400, 'webhook_target_refused'])
    expect(await hooks.app.sql('select from basalt.webhooks')).toEqual([])
  })

  test('are refused when a host name resolves to them, by test, delivery and replay, even if the address changes in between', async () => {
    const { id } = await hooks.webhook({ url: `http://rebinding.example:${port}/` })
    for (const address of ['127.0.0.1', '::1', '::ffff:127.0.0.1']) {
      addresses.set('rebinding.example', [address])
      expect((await hooks.send('POST', `webhooks/${id}/test`)).json).toEqual({
        success: false,
        durationMs: expect.any(Number),
        error: refused,
      })
    }
    addresses.set('rebinding.example', ['203.0.113.9', '127.0.0.1'])
    const token = userToken({ sub: alice })
    await hooks.app.request('POST', '/api/collections/item', { token, body: { id: 1 } })
    const delivery = await waitFor('two attempts', async () => {
      const { items } = (await hooks.send('GET', `webhooks/${id}/deliveries`)).json
      return items.length >= 2 && items[0]
    })
    expect([delivery.success, delivery.statusCode, delivery.error]).toEqual([false, undefined, refused])
    const replayed = (await hooks.send('POST', `webhooks/${id}/deliveries/${delivery.id}/replay`)).json
    expect([replayed.success, replayed.error]).toEqual([false, refused])
    expect(receiver.received).toEqual([])
  })

  test('are no longer reached if they were stored while they were allowed', async () => {
    const { id } = await hooks.webhook({ url: 'http://later.example/' })
    await hooks.app.sql('update basalt.webhooks set url = $1', [receiver.url])
    expect((await hooks.send('POST', `webhooks/${id}/test`)).json.error).toBe(refused)
    expect(receiver.received).toEqual([])
  })

  test('give the same result with and without a listener', async () => {
    const outcomes: unknown[] = []
    for (const each of [port, '1']) {
      addresses.set('scan.example', ['127.0.0.1'])
      const { id } = await hooks.webhook({ url: `http://scan.example:${each}/` })
      const { durationMs: _, ...outcome } = (await hooks.send('POST', `webhooks/${id}/test`)).json
      outcomes.push(outcome)
    }
    expect(outcomes).toEqual([
      { success: false, error: refused },
      { success: false, error: refused },
    ])
  })
})

test('webhooks › private targets are reached if the configuration allows them, metadata addresses never', async () => {
  await using open = await createWebhooksApp({
    config: { 'server.public_base_url': 'https://api.example.com', 'webhooks.allow_private_targets': 'true' },
  })
  const target = await open.receiver()
  const { id } = await open.webhook({ url: target.url })
  expect((await open.send('POST', `webhooks/${id}/test`)).json.success).toBe(true)
  const { status } = await open.send('POST', 'webhooks', { url: 'http://169.254.169.254/' })
  expect(status).toBe(400)
})

test('webhooks › private targets are refused on a local server if the configuration forbids them', async () => {
  await using closed = await createWebhooksApp({ config: { 'webhooks.allow_private_targets': 'false' } })
  const { json } = await closed.send('POST', 'webhooks', { url: 'http://127.0.0.1:1/' })
  expect(json.error).toBe('webhook_target_refused')
})

test('webhooks › the URL cannot inject headers', async () => {
  await using open = await createWebhooksApp({})
  const target = await open.receiver()
  const { id } = await open.webhook({ url: `${target.url}?a=%0d%0aX-Evil:%201&b=\r\nX-Evil: 1` })
  expect((await open.send('POST', `webhooks/${id}/test`)).json.success).toBe(true)
  expect(target.received.map(({ headers }) => headers['x-evil'])).toEqual([undefined])
})
