import { symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { inviteAdministrator } from '../../../../../test/administrators.ts'
import { functionArchive, functionFile } from '../../../../../test/function-deploys.ts'
import { type FunctionsFolder, makeFunctionsFolder } from '../../../../../test/functions-folder.ts'
import { createTestApp, envelope, type TestApp } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'

const shop = `import { after, before, inbound, job, route, schedule } from '@basaltdb/functions'
const input = { type: 'object', properties: { quantity: { type: 'integer' } } }
export const checkout = route('POST /orders/:id', { access: 'user', input, timeout: 5 }, (ctx, { quantity }) => {
  if (quantity > 3) fail(ctx.secrets.SHOP_KEY)
  return { id: ctx.params.id }
})
function fail(key: string): never {
  throw new Error('out of stock: ' + key)
}
export const price = before('item', 'create', () => {})
export const receipt = after('item', 'create', { retries: 0 }, (_ctx, { record }) => {
  if (record.id === 2) throw new Error('no receipt')
})
export const resize = job('resize', { retries: 0 }, () => {
  throw new Error('no picture')
})
export const nightly = schedule('0 3 * * *', { timezone: 'Europe/Berlin' }, () => {})
export const paid = inbound('stripe', () => undefined, () => {})
`
const key = 'sk_live_4242424242'
const setup = `
create table item (id int primary key);
alter table item enable row level security;
`
const path = '/api/admin/functions'

let folder: FunctionsFolder
let app: TestApp
let token: string
let viewer: string

const get = (rest = '', as = token) => app.request('GET', `${path}${rest}`, { token: as })
const post = (at: string, body: object) => app.request('POST', at, { token, body })

beforeAll(async () => {
  folder = makeFunctionsFolder({ 'shop.ts': shop })
  app = await createTestApp({ setup, config: { 'functions.folder': folder.path, 'logging.level': 'info' } })
  token = await app.adminToken()
  viewer = await inviteAdministrator(app, 'viewer')
  await app.request('PUT', '/api/admin/secrets/SHOP_KEY', { token, body: { value: key } })
})
afterAll(async () => {
  await app?.[Symbol.asyncDispose]()
  folder?.[Symbol.dispose]()
})

describe('GET /api/admin/functions', () => {
  test('lists the functions that are loaded, with what they are', async () => {
    const { status, json } = await get('', viewer)
    const file = 'shop.ts'
    expect([status, json]).toEqual([
      200,
      {
        source: 'folder',
        deploy: null,
        isAvailable: true,
        failure: null,
        count: 6,
        items: [
          {
            ...{ file, name: 'checkout', kind: 'route', method: 'POST', path: '/orders/:id', access: 'user' },
            timeout: 5,
            input: { type: 'object', properties: { quantity: { type: 'integer' } } },
          },
          { file, name: 'nightly', kind: 'schedule', expression: '0 3 * * *', timezone: 'Europe/Berlin' },
          { file, name: 'paid', kind: 'inbound', inbound: 'stripe', as: 'anonymous' },
          { file, name: 'price', kind: 'before', table: 'item', operations: ['create'] },
          { file, name: 'receipt', kind: 'after', table: 'item', operations: ['create'], retries: 0 },
          { file, name: 'resize', kind: 'job', job: 'resize', retries: 0 },
        ],
      },
    ])
  })

  test('has the reason of a load that has failed, and the functions of before', async () => {
    folder.write('broken.ts', `export const a = 1\n\nthrow new Error('broken')\n`)
    await expect(app.app.functions.loadFolder(folder.path)).rejects.toThrow('broken')
    const { json } = await get()
    expect(json).toMatchObject({
      count: 6,
      isAvailable: true,
      failure: {
        failedAt: expect.any(String),
        deploy: null,
        reason: expect.stringContaining('broken.ts: Error: broken'),
        frames: [{ file: 'broken.ts', line: 3 }],
      },
    })
    expect((await get('', viewer)).json.failure).toMatchObject({ reason: null, frames: [] })
    folder.remove('broken.ts')
    await app.app.functions.loadFolder(folder.path)
    expect((await get()).json.failure).toBeNull()
  })
})

describe('calls and errors of functions', () => {
  beforeAll(async () => {
    for (const [id, quantity] of [
      ['a', 1],
      ['b%2Fc', 1],
      ['d', 9],
    ])
      await post(`/api/functions/orders/${id}`, { quantity })
    // Refused by its schema, as by the function itself: a call without an error.
    await post('/api/functions/orders/e', { quantity: 'many' })
    await app.request('POST', '/api/functions/inbound/stripe', { body: {} })
    await post('/api/functions/missing', {})
    await post('/api/admin/jobs', { type: 'resize', payload: {} })
    await app.sql('insert into item values (1), (2)')
  })

  test('are counted from requests, runs of jobs and attempts for changes', async () => {
    const shown = async () => (await get('/activity', viewer)).json
    const of = (name: string, calls: number, errors: number) => ({
      name,
      calls: { hour: calls, day: calls },
      errors: { hour: errors, day: errors },
    })
    const expected = [of('checkout', 4, 1), of('paid', 1, 0), of('receipt', 2, 1), of('resize', 1, 1)]
    const names = (json: { items: { name: string }[] }) =>
      json.items.toSorted((a, b) => (a.name < b.name ? -1 : 1))
    await waitFor('the records', async () => {
      const found = await shown()
      return JSON.stringify(names(found)) === JSON.stringify(expected)
    })
    // Requests of administrators about functions do not count, neither for a limit.
    await app.sql(`
      insert into basalt.requests
        (happened_at, method, path, operation, status, duration_ms, app_id, request_size, response_size, request_id, node)
      select now(), 'GET', '/api/admin/functions', 'functions.list', 200, 1, gen_random_uuid(), 1, 1, 'x', 'x'
      from generate_series(1, 20001)`)
    const { isComplete, items } = await shown()
    expect([isComplete, names({ items })]).toEqual([true, expected])
    // Older records do not count for the hour, and then not for the day.
    await app.sql("update basalt.requests set happened_at = happened_at - interval '2 hours'")
    expect((await shown()).items).toContainEqual({
      name: 'checkout',
      calls: { hour: 0, day: 4 },
      errors: { hour: 0, day: 1 },
    })
    await app.sql("update basalt.requests set happened_at = happened_at - interval '1 day'")
    expect((await shown()).items.map(({ name }: { name: string }) => name)).not.toContain('checkout')
  })

  test('are listed with their lines, without secrets', async () => {
    const all = async () => (await get('/errors')).json.items
    await waitFor('the errors', async () => (await all()).length === 3)
    const errors = await all()
    const of = (name: string) => errors.find((each: { function: string }) => each.function === name)
    expect(of('checkout')).toMatchObject({
      message: 'out of stock: [SHOP_KEY]',
      requestId: expect.any(String),
      frames: [
        { file: 'shop.ts', line: 8, caller: 'fail', deploy: null },
        { file: 'shop.ts', line: 4 },
      ],
    })
    expect(of('resize')).toMatchObject({ message: 'no picture', frames: [{ line: 15 }] })
    expect(of('receipt')).toMatchObject({ message: 'no receipt', frames: [{ line: 12 }] })
    expect(JSON.stringify(errors)).not.toContain(key)

    const { json } = await get('/errors?function=resize&limit=1')
    expect([json.count, json.items[0].function]).toEqual([1, 'resize'])
    const brief = (await get('/errors', viewer)).json.items
    expect(brief).toHaveLength(3)
    for (const each of brief) expect(each).toMatchObject({ message: null, stack: null, frames: [] })
  })
})

describe('GET /api/admin/functions/source', () => {
  const read = (query: Readonly<Record<string, string>>) => get(`/source?${new URLSearchParams(query)}`)

  test('returns the lines around a line of the folder', async () => {
    const { json } = await read({ file: 'shop.ts', line: '8' })
    expect(json).toMatchObject({ file: 'shop.ts', deploy: null, line: 8, firstLine: 2 })
    expect(json.modifiedAt).toEqual(expect.any(String))
    expect(json.lines).toEqual(shop.split('\n').slice(1, 14))
    expect((await read({ file: 'shop.ts', line: '1' })).json).toMatchObject({ firstLine: 1 })
  })

  test('returns the lines of a deploy', async () => {
    const text = 'export const one = 1\nexport const two = 2\n'
    const file = functionFile(text, 'functions/lib/numbers.ts')
    const { json } = await post(`${path}/deploys`, { files: [file] })
    const query = { file: 'lib/numbers.ts', line: '2', deploy: json.deploy.hash }
    expect((await read(query)).status).toBe(404)
    await app.request('POST', `${path}/files`, {
      token,
      headers: { 'content-type': 'application/x-tar' },
      body: functionArchive([text]).toString('latin1'),
    })
    expect((await read(query)).json).toMatchObject({ lines: text.split('\n'), modifiedAt: null, line: 2 })
  })

  test('reads nothing else', async () => {
    writeFileSync(join(folder.project, 'secret.ts'), 'export const secret = 1')
    folder.write('notes.json', '{}')
    symlinkSync(join(folder.project, 'secret.ts'), join(folder.path, 'linked.ts'))
    for (const file of [
      '../secret.ts',
      'x/../../secret.ts',
      join(folder.project, 'secret.ts'),
      'linked.ts',
      'notes.json',
      'missing.ts',
      'shop.ts\0.ts',
      '',
    ])
      expect([file, (await read({ file, line: '1' })).status]).toEqual([file, 404])
    expect(envelope(await read({ file: 'shop.ts', line: '1000' }))).toMatchObject({
      code: 404,
      error: 'function_source_not_found',
    })
    expect((await read({ file: 'shop.ts', line: '1', deploy: 'x' })).status).toBe(404)
    for (const line of ['0', 'x', '1e9']) expect((await read({ file: 'shop.ts', line })).status).toBe(400)
    expect((await get('/source?file=shop.ts&line=1', viewer)).status).toBe(403)
  })
})
