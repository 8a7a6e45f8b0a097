import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { alice, notes } from '../../../../../test/fixtures.ts'
import { type FunctionsFolder, makeFunctionsFolder } from '../../../../../test/functions-folder.ts'
import { createTestApp, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'

const files = {
  'fetch.ts': `
    import { before, route } from '@basaltdb/functions'
    const post = (path, handler) => route('POST ' + path, { access: 'user', input: { type: 'object' } }, handler)
    const fetchAs = async (fetch, { url, timeout, ...init }) => {
      const options = { ...init, ...(timeout && { timeout }), ...(init.form && { body: new URLSearchParams(init.form) }) }
      return await fetch(url, options).then(
        async (response) => ({ status: response.status, headers: [...response.headers], length: (await response.clone().bytes()).length,
          text: (await response.text()).slice(0, 100) }),
        (error) => ({ name: error.name, message: error.message }))
    }
    export const guarded = post('/guarded', (ctx, input) => fetchAs(ctx.fetch, input))
    export const global = post('/global', (_ctx, input) => fetchAs(fetch, input))
    export const afterRead = post('/after-read', async (ctx, input) => {
      await ctx.db.note.count()
      return await fetchAs(ctx.fetch, input)
    })
    export const late = post('/late', async (ctx, input) => {
      await ctx.db.note.create({ body: 'kept' })
      return fetchAs(ctx.fetch, input)
    })
    export const stopped = post('/stopped', (ctx, { url }) => {
      const controller = new AbortController()
      setTimeout(() => controller.abort(new Error('stopped by its caller')), 20)
      return ctx.fetch(url, { signal: controller.signal }).catch(({ message }) => message)
    })
    export const secret = post('/secret', (ctx, { url }) => fetchAs(ctx.fetch, { url: url + ctx.secrets.SHOP_KEY }))
    export const secretHeader = post('/secret-header', (ctx, { url }) =>
      fetchAs(ctx.fetch, { url, headers: { authorization: ctx.secrets.SHOP_KEY + '\\n' } }))
    export const uncaught = post('/uncaught', (ctx, { url }) => ctx.fetch(url))
    export const checked = before('note', 'create', async (ctx, { values }) => {
      if (values.body.startsWith('http')) values.body = (await fetchAs(ctx.fetch, { url: values.body })).text
    })
  `,
}

type Respond = (request: IncomingMessage, body: string, response: ServerResponse) => void

let folder: FunctionsFolder
let app: TestApp
let respond: Respond
let received: { method: string | undefined; headers: IncomingMessage['headers']; body: string }[]
let isClosed = false
const server = createServer(async (request, response) => {
  response.on('close', () => {
    isClosed = true
  })
  const body = Buffer.concat(await request.toArray()).toString()
  received.push({ method: request.method, headers: request.headers, body })
  respond(request, body, response)
})
let url: string
const token = userToken({ sub: alice })
const key = 'sk_live_4242424242'

beforeAll(async () => {
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
  folder = makeFunctionsFolder(files)
  app = await createTestApp({
    setup: notes,
    config: { 'functions.folder': folder.path, 'functions.timeout': '3', 'logging.level': 'warn' },
    resolve: async (host) => {
      const address = { 'shop.example': '127.0.0.1', 'metadata.example': '169.254.169.254' }[host]
      if (address === undefined) throw Object.assign(new Error(host), { code: 'ENOTFOUND' })
      return [{ address, family: 4 }]
    },
  })
  await app.request('PUT', '/api/admin/secrets/SHOP_KEY', {
    token: await app.adminToken(),
    body: { value: key },
  })
})
afterAll(async () => {
  await app?.[Symbol.asyncDispose]()
  folder?.[Symbol.dispose]()
  server.closeAllConnections()
  server.close()
})
beforeEach(async () => {
  received = []
  isClosed = false
  respond = (_request, _body, response) => response.end('hello')
  await app.sql('truncate note restart identity')
})

const call = async (path: string, body: object) => {
  const { status, json } = await app.request('POST', `/api/functions${path}`, { token, body })
  return { ...json, code: status }
}
const failure = (message: string) => ({ code: 200, name: 'Error', message: `ctx.fetch: ${message}` })

describe('ctx.fetch', () => {
  test('sends a request and returns the response', async () => {
    respond = (_request, _body, response) =>
      response.writeHead(201, { 'x-kind': 'pot', 'set-cookie': ['a=1', 'b=2'] }).end('short and stout')
    const sent = {
      method: 'PUT',
      body: '{"a":"ä"}',
      headers: { 'x-test': 'yes', host: 'evil.example', expect: 'x' },
    }
    const reply = await call('/guarded', { url, ...sent })
    expect(reply).toMatchObject({ status: 201, text: 'short and stout' })
    expect(reply.headers).toEqual(
      expect.arrayContaining([
        ['x-kind', 'pot'],
        ['set-cookie', 'a=1'],
        ['set-cookie', 'b=2'],
      ]),
    )
    expect(received).toMatchObject([{ method: 'PUT', body: '{"a":"ä"}', headers: { 'x-test': 'yes' } }])
    expect(received[0]?.headers).toMatchObject({ host: new URL(url).host, 'content-length': '10' })
    expect(received[0]?.headers).not.toHaveProperty('expect')
  })

  test('sends forms, and reads statuses without a body', async () => {
    respond = (_request, _body, response) => response.writeHead(204).end()
    expect(await call('/guarded', { url, method: 'POST', form: { a: '1 2' } })).toMatchObject({
      status: 204,
      text: '',
    })
    expect(received).toMatchObject([
      { body: 'a=1+2', headers: { 'content-type': 'application/x-www-form-urlencoded;charset=UTF-8' } },
    ])
  })

  test('follows no redirects', async () => {
    respond = (_request, _body, response) =>
      response.writeHead(302, { location: 'http://169.254.169.254/' }).end()
    expect(await call('/guarded', { url })).toMatchObject({ status: 302 })
    expect(received).toHaveLength(1)
  })

  test('connects to a host name whose address is allowed', async () => {
    expect(await call('/guarded', { url: url.replace('127.0.0.1', 'shop.example') })).toMatchObject({
      text: 'hello',
    })
    expect(received[0]?.headers.host).toContain('shop.example:')
  })

  test.each([
    [
      'http://169.254.169.254/latest',
      '169.254.169.254',
      'the address is not one that requests may be sent to',
    ],
    ['http://[::]:1/', '[::]:1', 'the address is not one that requests may be sent to'],
    ['http://metadata.example/', 'metadata.example', 'the address is not one that requests may be sent to'],
    ['http://nowhere.example/', 'nowhere.example', 'the host name was not found'],
  ])('refuses %s', async (target, host, problem) => {
    const { name, message } = await call('/guarded', { url: target })
    expect([name, message]).toEqual(['Error', `ctx.fetch: ${host.replace(/:1$/, '')}: ${problem}`])
  })

  test('refuses private addresses where webhooks do, unlike the fetch of Node', async () => {
    await using closed = await createTestApp({
      setup: notes,
      config: { 'functions.folder': folder.path, 'webhooks.allow_private_targets': 'false' },
    })
    const send = async (path: string) =>
      (await closed.request('POST', `/api/functions${path}`, { token, body: { url } })).json
    expect(await send('/guarded')).toMatchObject({
      message: 'ctx.fetch: 127.0.0.1: the address is not one that requests may be sent to',
    })
    expect(received).toEqual([])
    expect(await send('/global')).toMatchObject({ status: 200 })
  })

  test.each(['ftp://127.0.0.1/', 'http://a:password@127.0.0.1/', 'nonsense', ''])(
    'rejects the URL %s',
    async (bad) => {
      const { name, message } = await call('/guarded', { url: bad })
      expect([name, message]).toEqual([
        'TypeError',
        'ctx.fetch: expected an http or https URL without a password',
      ])
    },
  )

  test('ends a slow response at its time limit', async () => {
    respond = (_request, _body, response) => response.writeHead(200).write('begun')
    expect(await call('/guarded', { url, timeout: 0.1 })).toEqual(
      failure(`${new URL(url).host}: no complete response within 0.1 s`),
    )
    await waitFor('the end of the connection', () => isClosed)
    expect(await call('/guarded', { url, timeout: 301 })).toMatchObject({
      message: 'ctx.fetch: timeout must be seconds above 0 and at most 300',
    })
  })

  test('ends with the signal of the call and with that of its caller', async () => {
    respond = () => undefined
    expect((await app.request('POST', '/api/functions/stopped', { token, body: { url } })).json).toBe(
      'stopped by its caller',
    )
    isClosed = false
    expect(await call('/guarded', { url })).toMatchObject({ code: 504, error: 'function_timeout' })
    await waitFor('the end of the connection', () => isClosed)
  })

  test('reads at most 10 MiB', async () => {
    respond = (_request, _body, response) => response.end(Buffer.alloc(10 * 1024 * 1024, 'x'))
    expect(await call('/guarded', { url })).toMatchObject({ status: 200, length: 10 * 1024 * 1024 })
    respond = (_request, _body, response) => response.end(Buffer.alloc(10 * 1024 * 1024 + 1, 'x'))
    expect(await call('/guarded', { url })).toEqual(
      failure(`${new URL(url).host}: the body of the response has more than 10 MiB`),
    )
  })

  test.each([
    ['breaks', (response: ServerResponse) => response.socket?.destroy(), 'the connection failed'],
    [
      'breaks in its body',
      (response: ServerResponse) => {
        response.writeHead(200, { 'content-length': '10' }).write('begun')
        setTimeout(() => response.socket?.destroy(), 20)
      },
      'the connection broke',
    ],
    [
      'is none of HTTP',
      (response: ServerResponse) => response.socket?.end('220 mail\r\n'),
      'the connection failed',
    ],
  ] as const)('fails when the response %s', async (_what, speak, problem) => {
    respond = (_request, _body, response) => speak(response)
    expect(await call('/guarded', { url })).toEqual(failure(`${new URL(url).host}: ${problem}`))
  })

  test('keeps secrets out of its errors', async () => {
    respond = (_request, _body, response) => response.socket?.destroy()
    for (const path of ['/secret', '/secret-header']) {
      const reply = await call(path, { url })
      expect(reply).toMatchObject({ code: 200, message: expect.stringContaining('ctx.fetch: ') })
      expect(JSON.stringify(reply)).not.toContain(key)
    }
    expect(await call('/uncaught', { url })).toMatchObject({ code: 500, error: 'function_failed' })
    expect(app.log.join()).not.toContain(key)
  })

  test('warns only while the transaction is open', async () => {
    const warnings = () => app.log.filter((line) => line.includes('ctx.fetch holds a transaction open'))
    const before = warnings().length
    await call('/guarded', { url })
    expect(await call('/after-read', { url })).toMatchObject({ text: 'hello' })
    expect(warnings()).toHaveLength(before)
    expect(await call('/late', { url })).toMatchObject({ text: 'hello' })
    await waitFor('a warning', () => warnings().length === before + 1)
    expect(warnings().at(-1)).toContain('"function":"late"')
    const created = await app.request('POST', '/api/collections/note', { token, body: { body: url } })
    expect(created.json).toMatchObject({ body: 'hello' })
    expect(warnings()).toHaveLength(before + 1)
  })
})
