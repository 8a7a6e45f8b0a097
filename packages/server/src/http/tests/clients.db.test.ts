import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { faultsOf } from '../../../test/faults.ts'
import { alice } from '../../../test/fixtures.ts'
import { type ClientResponse, type RealClient, realClients } from '../../../test/real-clients.ts'
import { createTestApp, type TestApp, userToken } from '../../../test/test-app.ts'

/** Conditional requests, content codings and ranges, as widespread HTTP clients send and read them. */

const setup = `
create table note (id int primary key, body text);
alter table note enable row level security;
create policy everyone on note using (true);`

let app: TestApp
let files: string
const authorization = `Bearer ${userToken({ sub: alice })}`

beforeAll(async () => {
  files = mkdtempSync(join(tmpdir(), 'basalt-clients-'))
  app = await createTestApp({
    setup,
    config: { 'storage.enabled': 'true', 'storage.local_path': files },
  })
  const token = await app.adminToken()
  const bucket = { name: 'texts', public: true }
  expect((await app.request('POST', '/api/storage/buckets', { token, body: bucket })).status).toBe(201)
  const object = await fetch(`${app.url}/api/storage/texts/long.txt`, {
    method: 'PUT',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'text/plain' },
    body: '0123456789'.repeat(1000),
  })
  expect(object.status).toBe(201)
})
beforeEach(async () => {
  await app.sql(`
    truncate note;
    insert into note select n, 'Grüße ' || n || repeat(' and more', 10) from generate_series(1, 200) n`)
})
afterAll(async () => {
  expect(faultsOf(app)).toEqual([])
  await app[Symbol.asyncDispose]()
  rmSync(files, { recursive: true, force: true })
})

const record = '/api/collections/note/1'
const list = '/api/collections/note?sort=id&perPage=100'
const short = '/api/collections/note?sort=id&perPage=2'

for (const { name, isInstalled, choosesCodings, open } of realClients) {
  describe.runIf(isInstalled)(`HTTP clients › ${name}${isInstalled ? '' : ' (not installed)'}`, () => {
    let client: RealClient
    beforeAll(async () => {
      client = await open(app.url)
    })
    afterAll(() => client?.[Symbol.asyncDispose]())

    const send = (
      method: string,
      path: string,
      headers: Readonly<Record<string, string>> = {},
      body?: Buffer,
    ): Promise<ClientResponse> =>
      client.send({
        ...{ method, url: `${app.url}${path}` },
        headers: {
          authorization,
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...headers,
        },
        ...(body === undefined ? {} : { body }),
      })
    const expected = async (path: string) =>
      (await app.request('GET', path, { token: authorization.slice('Bearer '.length) })).text
    const json = (value: object) => Buffer.from(JSON.stringify(value))

    test('gets a compressed list, and a 304 for its tag', async () => {
      const { status, headers, text } = await send('GET', list)
      expect([status, text]).toEqual([200, await expected(list)])
      expect(['gzip', 'br', 'zstd']).toContain(headers['content-encoding'])
      expect(headers.etag).toMatch(new RegExp(`^W/"[0-9a-f]{24}-${headers['content-encoding']}"$`))
      const again = await send('GET', list, { 'if-none-match': headers.etag ?? '' })
      expect([again.status, again.text, again.headers['content-encoding']]).toEqual([304, '', undefined])
      await app.sql(`update note set body = 'new' where id = 1`)
      expect((await send('GET', list, { 'if-none-match': headers.etag ?? '' })).status).toBe(200)
    })

    test('gets a 304 for the tag of a record, and a 412 with the current one once it has changed', async () => {
      const etag = (await send('GET', record)).headers.etag ?? ''
      const known = await send('GET', record, { 'if-none-match': etag })
      expect([known.status, known.text, known.headers.etag]).toEqual([304, '', etag])
      const written = await send('PATCH', record, { 'if-match': etag }, json({ body: 'mine' }))
      expect([written.status, JSON.parse(written.text)]).toEqual([200, { id: 1, body: 'mine' }])
      for (const method of ['PATCH', 'DELETE']) {
        const body = method === 'PATCH' ? json({ body: 'other' }) : undefined
        const failed = await send(method, record, { 'if-match': etag }, body)
        expect([failed.status, failed.headers.etag]).toEqual([412, written.headers.etag])
        expect(JSON.parse(failed.text)).toMatchObject({
          error: 'precondition_failed',
          data: { etag: written.headers.etag },
        })
      }
      const deleted = await send('DELETE', record, { 'if-match': written.headers.etag ?? '' })
      expect([deleted.status, deleted.text]).toEqual([204, ''])
    })

    test('gets the headers of HEAD without a body', async () => {
      const got = await send('GET', record)
      const head = await send('HEAD', record)
      expect([head.status, head.text]).toEqual([200, ''])
      expect(head.headers.etag).toBe(got.headers.etag)
      expect(head.headers['content-type']).toBe(got.headers['content-type'])
      const known = await send('HEAD', record, { 'if-none-match': got.headers.etag ?? '' })
      expect([known.status, known.text]).toEqual([304, ''])
    })

    test('gets a range of a file as it is stored, and a list whole', async () => {
      const file = '/api/storage/texts/long.txt'
      const part = await send('GET', file, { range: 'bytes=5-9' })
      expect([part.status, part.text, part.headers['content-range']]).toEqual([
        ...[206, '56789', 'bytes 5-9/10000'],
      ])
      expect(part.headers['content-encoding']).toBeUndefined()
      const whole = await send('GET', list, { range: 'bytes=5-9' })
      expect([whole.status, whole.text]).toEqual([200, await expected(list)])
    })

    test.runIf(choosesCodings)(
      'gets a coding if it refuses identity, and none if it accepts nothing else',
      async () => {
        const coded = await send('GET', short, { 'accept-encoding': 'gzip, identity;q=0' })
        expect([coded.headers['content-encoding'], coded.text]).toEqual(['gzip', await expected(short)])
        const refused = await send('GET', short, { 'accept-encoding': 'identity;q=0' })
        expect([refused.status, refused.text]).toEqual([200, await expected(short)])
        const plain = await send('GET', list, { 'accept-encoding': 'identity' })
        expect([plain.headers['content-encoding'], plain.text]).toEqual([undefined, await expected(list)])
      },
    )

    test('sends a body in gzip, and gets 400 for a truncated one and 415 for two codings', async () => {
      const body = gzipSync(JSON.stringify({ id: 300, body: 'Grüße in gzip' }))
      const path = '/api/collections/note'
      const cut = await send('POST', path, { 'content-encoding': 'gzip' }, body.subarray(0, -10))
      expect([cut.status, JSON.parse(cut.text).error]).toEqual([400, 'invalid_gzip_body'])
      const twice = await send('POST', path, { 'content-encoding': 'gzip, gzip' }, gzipSync(body))
      expect([twice.status, twice.headers['accept-encoding']]).toEqual([415, 'gzip, identity'])
      expect(await app.sql('select from note where id = 300')).toEqual([])
      const made = await send('POST', path, { 'content-encoding': 'gzip' }, body)
      expect([made.status, JSON.parse(made.text)]).toEqual([201, { id: 300, body: 'Grüße in gzip' }])
    })
  })
}
