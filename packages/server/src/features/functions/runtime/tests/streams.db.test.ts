import { connect } from 'node:net'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { alice, notes } from '../../../../../test/fixtures.ts'
import { type FunctionsFolder, makeFunctionsFolder } from '../../../../../test/functions-folder.ts'
import { createTestApp, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { testAdminPassword } from '../../../../../test/test-config.ts'
import { waitFor } from '../../../../../test/wait-for.ts'

const imports = `
  import { writeSync } from 'node:fs'
  import { setTimeout as delay } from 'node:timers/promises'
  import { FunctionError, route } from '@basaltdb/functions'
  const get = (path, handler) => route('GET ' + path, { access: 'user' }, handler)
  const post = (path, handler) => route('POST ' + path, { access: 'user', input: { type: 'object' } }, handler)
  const streamOf = (...chunks) => new ReadableStream({
    start(controller) { for (const chunk of chunks) controller.enqueue(chunk); controller.close() } })
`

const files = {
  'responses.ts': `${imports}
    export const plain = get('/plain', () => streamOf('a ', new TextEncoder().encode('text'), new ArrayBuffer(0), new Uint16Array([33])))
    export const response = get('/response', () => new Response('made', { status: 201, headers: {
      'x-own': 'yes', vary: 'X-Own', 'set-cookie': 'a=b', connection: 'close', 'access-control-allow-origin': 'https://evil.example' } }))
    export const empty = get('/empty', () => new Response(null, { status: 205, headers: { 'x-own': 'yes' } }))
    export const redirect = get('/redirect', () => Response.redirect('https://shop.example/paid', 303))
    export const refused = post('/refused', async (ctx) => {
      await ctx.db.note.create({ body: 'kept' })
      return Response.json({ reason: 'closed' }, { status: 409 })
    })
    export const events = get('/events', (ctx) => {
      let next = 0
      return new Response(new ReadableStream({
        async pull(controller) {
          if (next > 0) await new Promise((resolve) => { release = resolve })
          controller.enqueue('data: ' + next + '\\n\\n')
          next += 1
          console.log('event of ' + ctx.user.id)
        },
        cancel() { cancelled += 1 },
      }), { headers: { 'content-type': 'text/event-stream' } })
    })
    let release = () => {}
    let cancelled = 0
    let aborted = 0
    export const releaseOne = post('/release', () => { release(); return { cancelled, aborted } })
    export const silent = get('/silent', (ctx) => {
      ctx.signal.addEventListener('abort', () => { aborted += 1 })
      return new ReadableStream({ cancel() { cancelled += 1 } })
    })
    export const late = get('/late', async (ctx) => {
      console.log('waits for its end')
      await new Promise((resolve) => ctx.signal.addEventListener('abort', resolve))
      return new ReadableStream({ cancel() { cancelled += 1 } })
    })
    const chunk = new Uint8Array(64 * 1024).fill(120)
    let pulled = 0
    export const endless = get('/endless', () => {
      pulled = 0
      return new ReadableStream({ pull(controller) { pulled += 1; controller.enqueue(chunk) } }, { highWaterMark: 0 })
    })
    export const pulledNow = post('/pulled', () => pulled)
    export const large = get('/large', () => {
      let left = 100
      return new ReadableStream({
        pull(controller) { if (left === 0) controller.close(); else { left -= 1; controller.enqueue(chunk) } } })
    })
    export const huge = get('/huge', () => streamOf(new Uint8Array(20 * 1024 * 1024).fill(120), 'end'))
    export const withLength = get('/length/:bytes', (ctx) =>
      new Response(streamOf('12345'), { headers: { 'content-length': ctx.params.bytes, 'content-type': 'text/plain' } }))
  `,
  'transactions.ts': `${imports}
    export const written = post('/written', async (ctx) => {
      await ctx.db.note.create({ body: 'streamed' })
      return new ReadableStream({ async pull(controller) {
        const late = await ctx.db.note.create({ body: 'late' }).catch(({ status, error }) => status + ' ' + error)
        const job = await ctx.emit('room', 'late').catch(({ error }) => error)
        controller.enqueue(late + ', ' + job)
        controller.close()
      } })
    })
    export const deferred = post('/deferred', async (ctx) => {
      await ctx.db.sql\`insert into child (parent_id) values (999)\`
      return streamOf('not sent')
    })
    export const thrown = post('/thrown', async (ctx) => {
      await ctx.db.note.create({ body: 'undone' })
      throw new FunctionError(409, 'no')
    })
    export const typed = route('GET /typed', { access: 'user', output: { type: 'object' } }, async (ctx) => {
      await ctx.db.note.create({ body: 'undone' })
      return streamOf('text')
    })
    const locked = streamOf('text')
    locked.getReader()
    export const used = get('/used', () => locked)
    export const network = get('/network-error', () => Response.error())
    export const headers = get('/headers', () => new Response('a', { headers: { 'x-long': 'x'.repeat(20_000) } }))
  `,
  'faults.ts': `${imports}
    const failing = (error) => {
      let isFirst = true
      return new ReadableStream({ pull(controller) {
        if (isFirst) controller.enqueue('first'); else throw error
        isFirst = false
      } }, { highWaterMark: 0 })
    }
    export const failed = get('/failed', () => failing(new Error('failed in the middle')))
    export const leaking = get('/leaking', (ctx) => failing(new Error('with ' + ctx.secrets.SHOP_KEY)))
    export const wrong = get('/wrong', () => streamOf('first', 42))
    export const crash = get('/crash', () => new ReadableStream({ async pull(controller) {
      controller.enqueue('first')
      await delay(20)
      process.exit(0)
    } }))
    const frame = (message) => {
      const body = Buffer.from(JSON.stringify(message))
      const head = Buffer.alloc(4)
      head.writeUInt32BE(body.length)
      return Buffer.concat([head, body])
    }
    export const forge = post('/forge', async (ctx, { messages }) => {
      for (const message of messages) writeSync(3, frame(message))
      await delay(20)
      return 'forged'
    })
  `,
}

let folder: FunctionsFolder
let app: TestApp
const token = userToken({ sub: alice })
const schema = `${notes}
  create table parent (id int primary key);
  create table child (parent_id int references parent deferrable initially deferred);
  grant insert, select on child, parent to basalt_authenticated;`

beforeAll(async () => {
  folder = makeFunctionsFolder(files)
  app = await createTestApp({
    setup: schema,
    config: {
      'functions.folder': folder.path,
      'functions.timeout': '2',
      'server.shutdown_timeout': '1',
      'server.cors_allowed_origins': 'https://shop.example',
    },
  })
})
afterAll(async () => {
  await app?.[Symbol.asyncDispose]()
  folder?.[Symbol.dispose]()
})
beforeEach(async () => void (await app.sql('truncate note restart identity')))

const open = async (path: string, init: RequestInit = {}) =>
  await fetch(`${app.url}/api/functions${path}`, {
    ...init,
    headers: { authorization: `Bearer ${token}`, ...init.headers },
  })
const call = (path: string, body: object = {}) =>
  app.request('POST', `/api/functions${path}`, { token, body })
const bodies = async () => (await app.sql('select body from note order by id')).map(({ body }) => body)
const untilLogged = (text: string) => waitFor(text, () => app.log.some((line) => line.includes(text)))
/** Reads a body until it is cut. */
const readCut = async (response: Response) => {
  let text = ''
  try {
    for await (const chunk of response.body ?? []) text += Buffer.from(chunk).toString()
  } catch {
    return { text, isCut: true }
  }
  return { text, isCut: false }
}

describe('streamed responses', () => {
  test('have texts and bytes of any kind, and are not cached', async () => {
    const response = await open('/plain', { headers: { 'accept-encoding': 'gzip' } })
    expect([response.status, await response.text()]).toEqual([200, 'a text!\0'])
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'application/octet-stream',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'x-request-id': expect.any(String),
    })
    expect(response.headers.has('content-encoding')).toBe(false)
  })

  test('have the status and the headers of the function, except those of the connection and the server', async () => {
    const response = await open('/response', { headers: { origin: 'https://shop.example' } })
    expect([response.status, await response.text()]).toEqual([201, 'made'])
    const headers = Object.fromEntries(response.headers)
    expect(headers).toMatchObject({
      'x-own': 'yes',
      'content-type': 'text/plain;charset=UTF-8',
      vary: 'Origin, X-Own',
      'access-control-allow-origin': 'https://shop.example',
    })
    expect(response.headers.getSetCookie()).toEqual([])
    expect(headers.connection).not.toBe('close')
  })

  test('may have no body, and any status', async () => {
    const empty = await app.request('GET', '/api/functions/empty', { token })
    expect([empty.status, empty.text, empty.headers.get('x-own'), empty.headers.get('content-type')]).toEqual(
      [205, '', 'yes', null],
    )
    const redirect = await open('/redirect', { redirect: 'manual' })
    expect([redirect.status, redirect.headers.get('location')]).toEqual([303, 'https://shop.example/paid'])
    const refused = await call('/refused')
    expect([refused.status, refused.json]).toEqual([409, { reason: 'closed' }])
    // Only an error undoes the transaction.
    expect(await bodies()).toEqual(['kept'])
  })

  test('have no body for HEAD, which cancels the stream', async () => {
    const before = (await call('/release')).json.cancelled
    const response = await open('/silent', { method: 'HEAD' })
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'application/octet-stream'])
    await waitFor('its end', async () => (await call('/release')).json.cancelled > before)
  })

  test('send each event at once', async () => {
    const response = await open('/events', { headers: { 'accept-encoding': 'gzip' } })
    expect([
      response.status,
      response.headers.get('content-type'),
      response.headers.get('cache-control'),
    ]).toEqual([200, 'text/event-stream', 'no-store, no-transform'])
    const reader = response.body?.getReader()
    const next = async () => Buffer.from((await reader?.read())?.value ?? '').toString()
    expect(await next()).toBe('data: 0\n\n')
    await call('/release')
    expect(await next()).toBe('data: 1\n\n')
    const line = app.log.find((each) => each.includes(`event of ${alice}`)) ?? '{}'
    expect(JSON.parse(line)).toMatchObject({
      requestId: response.headers.get('x-request-id'),
      function: 'events',
    })
    const { cancelled } = (await call('/release')).json
    await reader?.cancel()
    await waitFor('its end', async () => (await call('/release')).json.cancelled > cancelled)
  })

  test('have their head before the first byte, and end in the function when the client disconnects', async () => {
    const { cancelled, aborted } = (await call('/release')).json
    const response = await open('/silent')
    expect(response.status).toBe(200)
    await response.body?.cancel()
    await waitFor('its end', async () => {
      const now = (await call('/release')).json
      return now.cancelled > cancelled && now.aborted > aborted
    })
  })

  test('are cancelled if they are returned after the end of their call', async () => {
    const { cancelled } = (await call('/release')).json
    const client = new AbortController()
    const response = open('/late', { signal: client.signal }).catch(() => 'aborted')
    await untilLogged('waits for its end')
    client.abort()
    expect(await response).toBe('aborted')
    await waitFor('its end', async () => (await call('/release')).json.cancelled > cancelled)
  })

  test('have as many bytes as their Content-Length, or are cut', async () => {
    const whole = await open('/length/5')
    expect([whole.headers.get('content-length'), await whole.text()]).toEqual(['5', '12345'])
    for (const bytes of [3, 7]) expect((await readCut(await open(`/length/${bytes}`))).isCut).toBe(true)
  })

  test('are complete when they are long, also from a single chunk', async () => {
    expect((await (await open('/large')).arrayBuffer()).byteLength).toBe(100 * 64 * 1024)
    const huge = Buffer.from(await (await open('/huge')).arrayBuffer())
    expect([huge.length, huge.subarray(-4).toString()]).toEqual([20 * 1024 * 1024 + 3, 'xend'])
  })

  test('are read from the function only as the client reads', async () => {
    const socket = connect(Number(new URL(app.url).port), '127.0.0.1').pause()
    socket.write(`GET /api/functions/endless HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${token}\r\n\r\n`)
    const pulled = async (): Promise<number> => (await call('/pulled')).json
    const counts: number[] = []
    await waitFor('the function to stop', async () => {
      counts.push(await pulled())
      return counts.length > 20 && (counts.at(-1) ?? 0) > 0 && new Set(counts.slice(-20)).size === 1
    })
    // The window, and the buffers of the connection in the operating system.
    const stopped = counts.at(-1) ?? 0
    expect(stopped * 64 * 1024).toBeLessThan(32 * 1024 * 1024)
    socket.resume()
    await waitFor('further chunks', async () => (await pulled()) > stopped + 100)
    socket.destroy()
    await waitFor('its end', async () => {
      const before = await pulled()
      await call('/release')
      return (await pulled()) === before
    })
  })
})

describe('transactions of streamed responses', () => {
  test('are committed before the first byte, and later statements are refused', async () => {
    const response = await call('/written')
    expect([response.status, response.text]).toEqual([200, '409 transaction_ended, transaction_ended'])
    expect(await bodies()).toEqual(['streamed'])
  })

  test('stream nothing when the commit fails', async () => {
    const response = await call('/deferred')
    expect([response.status, response.json.error]).toEqual([400, 'foreign_key_violation'])
  })

  test.each(['/typed', '/used', '/network-error', '/headers'])(
    'are undone for a response that cannot be sent: %s',
    async (path) => {
      const response = await app.request('GET', `/api/functions${path}`, { token })
      expect([response.status, response.json.error]).toEqual([500, 'function_failed'])
      expect(await bodies()).toEqual([])
    },
  )

  test('are undone in an invocation, whose result has the beginning of the body', async () => {
    const invoke = async (name: string, commit: boolean) => {
      const body = { name, commit, input: {}, as: alice }
      const admin = await app.adminToken()
      return (await app.request('POST', '/api/admin/functions/invoke', { token: admin, body })).json
    }
    await app.sql('insert into basalt.users (id) values ($1) on conflict do nothing', [alice])
    expect(await invoke('refused', false)).toMatchObject({
      status: 409,
      result: '{"reason":"closed"}',
      error: null,
      isCommitted: false,
    })
    expect(await bodies()).toEqual([])
    expect((await invoke('endless', false)).result).toHaveLength(65_536)
    expect(await invoke('silent', false)).toMatchObject({ status: 200, result: '' })
  })
})

describe('failures within a stream', () => {
  test.each([
    ['/failed', 'failed in the middle'],
    ['/wrong', 'a chunk of the type number'],
  ])('cut the response, and are logged: %s', async (path, reason) => {
    const response = await open(path)
    expect([response.status, await readCut(response)]).toEqual([200, { text: 'first', isCut: true }])
    await untilLogged(reason)
    const line = app.log.find((each) => each.includes(reason)) ?? '{}'
    expect(JSON.parse(line)).toMatchObject({
      msg: 'a function failed',
      failure: { message: expect.stringContaining(reason), stack: expect.any(String) },
      requestId: response.headers.get('x-request-id'),
      function: path === '/failed' ? 'failed' : 'wrong',
    })
  })

  test('cut the response when the session of the user ends', async () => {
    const [user] = await app.sql('insert into basalt.users (id) values (gen_random_uuid()) returning id')
    const authorization = `Bearer ${userToken({ sub: user?.id as string })}`
    const response = await open('/silent', { headers: { authorization } })
    const admin = await app.adminToken()
    await app.request('POST', `/api/admin/users/${user?.id}/disable`, { token: admin })
    expect([response.status, await readCut(response)]).toEqual([200, { text: '', isCut: true }])
    await untilLogged('the response was cut: the session has ended')
  })

  test('cut the response when the session of the administrator ends', async () => {
    const login = await app.request('POST', '/api/admin/auth', { body: { password: testAdminPassword } })
    const admin: string = login.json.token
    const response = await open('/silent', { headers: { authorization: `Bearer ${admin}` } })
    await app.request('POST', '/api/admin/auth/logout', { token: admin })
    expect([response.status, await readCut(response)]).toEqual([200, { text: '', isCut: true }])
    await untilLogged('the response was cut: the session of the administrator has ended')
  })

  test('leave no secret in the log', async () => {
    const admin = await app.adminToken()
    const body = { value: 'hidden-secret-value' }
    await app.request('PUT', '/api/admin/secrets/SHOP_KEY', { token: admin, body })
    expect((await readCut(await open('/leaking'))).isCut).toBe(true)
    await untilLogged('with [SHOP_KEY]')
    expect(app.log.join('')).not.toContain('hidden-secret-value')
  })

  test('cut the response when the process ends', async () => {
    expect((await readCut(await open('/crash'))).isCut).toBe(true)
    await waitFor('another process', async () => (await call('/pulled')).status === 200)
  })
})

test('frames of a stream without a call have no effect, and those of another kind end the process', async () => {
  const silent = await open('/silent')
  const forged = await call('/forge', {
    messages: [
      { type: 'chunk', call: 'other', bytes: 'AAAA' },
      { type: 'end', call: 'other' },
      { type: 'head', call: 'other', status: 200, headers: [], hasBody: true },
    ],
  })
  expect([forged.status, forged.json]).toEqual([200, 'forged'])
  await silent.body?.cancel()
  const ended = await call('/forge', { messages: [{ type: 'chunk', call: 'other', bytes: 7 }] })
  expect([ended.status, ended.json.error]).toEqual([503, 'function_process_ended'])
  await waitFor('another process', async () => (await call('/pulled')).status === 200)
})

describe('functions that replace others', () => {
  test('are served at once, while the streams of the previous ones are cut after the grace period', async () => {
    const reader = (await open('/events')).body?.getReader()
    expect(Buffer.from((await reader?.read())?.value ?? '').toString()).toBe('data: 0\n\n')
    const silent = await open('/silent')
    folder.write('later.ts', `${imports} export const later = get('/later', () => 'served')`)
    await app.app.functions.loadFolder(folder.path)
    expect((await app.request('GET', '/api/functions/later', { token })).json).toBe('served')
    expect((await readCut(silent)).isCut).toBe(true)
    await expect(reader?.read()).rejects.toThrow()
  })
})

test('streamed responses › are cut after a time without a byte, and the log names the silent side', async () => {
  await using other = await createTestApp({
    setup: schema,
    config: { 'functions.folder': folder.path, 'functions.stream_idle_timeout': '1' },
  })
  const headers = { authorization: `Bearer ${token}` }
  const silent = await fetch(`${other.url}/api/functions/silent`, { headers })
  expect([silent.status, (await readCut(silent)).isCut]).toEqual([200, true])
  const socket = connect(Number(new URL(other.url).port), '127.0.0.1').pause()
  socket.write(`GET /api/functions/endless HTTP/1.1\r\nhost: a\r\nauthorization: Bearer ${token}\r\n\r\n`)
  for (const side of ['the function has sent', 'the client has read'])
    await waitFor(side, () => other.log.some((line) => line.includes(`${side} nothing for 1 s`)))
  socket.destroy()
})
