import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { inviteAdministrator } from '../../../../../test/administrators.ts'
import { createTestApp, type RequestOptions, type TestApp } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'

let app: TestApp
const tokens = new Map<string, string>()
const secret = 'sealed-9f3c'

const people = `
create table contact (email text primary key, city text);
create table person (
  id int primary key, name text, email text unique, contact text references contact, chief int references person,
  shout text generated always as (upper(email)) stored, words tsvector, amount int not null default 1
);
comment on column contact.email is 'Address. @personal';
comment on column person.email is '@personal';
comment on column person.contact is '@personal';
create view people as select * from person;
create function mail_of(person) returns text language sql stable as 'select $1.email';
insert into contact values ('${secret}', 'Rome');
insert into person (id, name, email, contact, words) values
  (1, 'Ann', '${secret}', '${secret}', to_tsvector('simple', '${secret}')), (2, 'Bob', 'other', null, null);
update person set chief = 1 where id = 2`

beforeAll(async () => {
  app = await createTestApp({ setup: people })
  for (const role of ['viewer', 'support']) tokens.set(role, await inviteAdministrator(app, role))
})
afterAll(async () => await app[Symbol.asyncDispose]())

function call(role: string, path: string, options: RequestOptions & { method?: string } = {}) {
  const { method = 'GET', ...rest } = options
  return app.request(method, `/api${path}`, { token: tokens.get(role) ?? '', ...rest })
}

describe('viewers', () => {
  test('read the log without attributes and the lines after the first', async () => {
    await app.sql(
      `insert into basalt.logs (logged_at, level, message, attrs, node)
       values (now(), 30, $1, $2::jsonb, 'n')`,
      [`mail, not sent\n\nhttps://example.com/?code=${secret}`, JSON.stringify({ to: secret })],
    )
    const entry = { message: 'mail, not sent', attrs: {}, node: 'n' }
    const log = await call('viewer', '/admin/logs?q=not%20sent')
    expect([log.status, log.json.entries]).toEqual([200, [expect.objectContaining(entry)]])
    const countOf = async (role: string) => {
      const { entries } = (await call(role, `/admin/logs?q=${secret}`)).json
      const { items } = (await call(role, `/admin/logs/histogram?q=${secret}`)).json
      const counted = items.reduce((sum: number, { count }: { count: number }) => sum + count, 0)
      return [entries.length, counted]
    }
    expect([await countOf('support'), await countOf('viewer')]).toEqual([
      [1, 1],
      [0, 0],
    ])
  })

  test('follow the log without attributes and the lines after the first', async () => {
    const cancel = new AbortController()
    const response = await fetch(`${app.url}/api/admin/logs/tail`, {
      headers: { authorization: `Bearer ${tokens.get('viewer')}` },
      signal: cancel.signal,
    })
    await app.sql(
      `insert into basalt.logs (logged_at, level, message, attrs, node)
       values (now(), 30, $1, $2::jsonb, 'tail')`,
      [`second mail\n${secret}`, JSON.stringify({ to: secret })],
    )
    let text = ''
    for await (const chunk of response.body ?? []) {
      text += Buffer.from(chunk).toString()
      if (/second mail.*\n\n/.test(text)) break
    }
    cancel.abort()
    expect(text).toContain('"message":"second mail","attrs":{}')
    expect(text).not.toContain(secret)
  })

  test('read jobs without payloads, keys and errors', async () => {
    const runs = [
      { attempt: 1, status: 'failed', startedAt: new Date(), finishedAt: new Date(), error: secret },
    ]
    const id = randomUUID()
    await app.sql(
      `insert into basalt.jobs (id, type, payload, max_attempts, state, last_error, runs, key, run_at)
       values ($1, 'mail', $2::jsonb, 3, 'queued', $3, $4::jsonb, $3, now() + interval '1 day')`,
      [id, JSON.stringify({ to: secret }), secret, JSON.stringify(runs)],
    )
    for (const path of ['', `/${id}`, `/${id}/runs`]) {
      const seen = await call('viewer', `/admin/jobs${path}`)
      expect([path, seen.status, seen.text.includes(secret)]).toEqual([path, 200, false])
      expect((await call('support', `/admin/jobs${path}`)).text).toContain(secret)
    }
    expect((await call('viewer', `/admin/jobs/${id}`)).json).toMatchObject({ payload: {}, lastError: '' })
    expect((await call('viewer', `/admin/jobs/${id}/retry`, { method: 'POST' })).status).toBe(403)
  })

  test('read events without contents, and cannot search for a key', async () => {
    await app.sql(
      `insert into basalt.webhooks (id, url, events, tables, enabled)
       values (gen_random_uuid(), $1, array['create'], array['t'], true)`,
      [`https://${secret}.example.com`],
    )
    const [event] = await app.sql(
      `insert into basalt.outbox (action, table_name, record, record_key)
       values ('create', 't', $1::json, $2) returning id::text`,
      [JSON.stringify({ id: secret }), JSON.stringify([secret])],
    )
    await app.sql(
      `insert into basalt.webhook_deliveries (webhook_id, event_id, log_id, event_action, event_table, request_body,
         attempt, success, duration_ms, error, response_body)
       select id, gen_random_uuid(), $1, 'create', 't', $2, 1, false, 1, $2, $2 from basalt.webhooks`,
      [event?.id, secret],
    )
    await app.sql(
      `insert into basalt.realtime_sent (node, events, entries, streams, dropped)
       values (gen_random_uuid(), int8range($1, $1, '[]'), jsonb_build_object($1::text, '[1, 0, [0]]'::jsonb),
         jsonb_build_array(jsonb_build_array($2::text, 'sse', 'user', null)), 0)`,
      [event?.id, secret],
    )
    await app.sql(
      `insert into basalt.jobs (id, type, max_attempts, state, last_error, created_at, transaction_id)
       select gen_random_uuid(), 'mail', 3, 'failed', $2, happened_at, transaction_id from basalt.outbox where id = $1`,
      [event?.id, secret],
    )
    for (const path of ['', `/${event?.id}`]) {
      const seen = await call('viewer', `/admin/events${path}`)
      expect([path, seen.status, seen.text.includes(secret)]).toEqual([path, 200, false])
      expect((await call('support', `/admin/events${path}`)).text).toContain(secret)
    }
    const { streams, jobs } = (await call('viewer', `/admin/events/${event?.id}`)).json
    expect(streams.sent).toMatchObject([{ sent: 1, receivers: [] }])
    expect(jobs).toMatchObject([{ type: 'mail', lastError: null }])
    const whole = (await call('support', `/admin/events/${event?.id}`)).json
    expect(whole.streams.sent).toMatchObject([{ receivers: [{ connection: secret }] }])
    expect(whole.jobs).toMatchObject([{ lastError: secret }])
    expect((await call('viewer', `/admin/events?record=${secret}`)).json.error).toBe('insufficient_role')
    expect((await call('viewer', '/admin/events?table=t')).json.items).toMatchObject([{ record: null }])
  })

  const tables = '/collections'
  const read = (path: string, role = 'viewer') => call(role, `${tables}/${path}`)
  const post = (path: string, body: object, role = 'viewer') => call(role, path, { method: 'POST', body })

  test('read rows without personal columns, and those that derive from them', async () => {
    const ann = { id: 1, name: 'Ann', chief: null, amount: 1 }
    const bob = { id: 2, name: 'Bob', chief: 1, amount: 1 }
    expect((await read('person?sort=id')).json.items).toEqual([ann, bob])
    expect((await read('person/1')).json).toEqual(ann)
    expect((await read('person?filter=id=2&expand=chief')).json.items).toEqual([
      { ...bob, expand: { person: ann } },
    ])
    expect((await post(`${tables}/person/query`, { sort: '-id' })).json.items).toEqual([bob, ann])
    expect((await read('person?aggregate=sum(amount)')).text).toContain('2')
    const grid = await call('viewer', '/admin/tables/person/rows')
    expect(grid.json.columns).toEqual([...['id', 'name', 'chief', 'amount']])
    const described = await call('viewer', '/admin/tables/person')
    expect(described.json.columns).toHaveLength(4)
    expect((await read('contact')).json.items).toEqual([{ city: 'Rome' }])
    expect((await read('person', 'support')).text).toContain(secret)
  })

  test('cannot name a personal column more than one that does not exist', async () => {
    const encoded = (text: string) => encodeURIComponent(text)
    const attempts: ((column: string) => Promise<{ status: number; text: string }>)[] = [
      (column) => read(`person?fields=${column}`),
      (column) => read(`person?filter=${encoded(`${column}='${secret}'`)}`),
      (column) => read(`person?filter=${encoded(`${column} ~ 'seal%'`)}`),
      (column) => read(`person?filter=${encoded(`person.${column}='${secret}'`)}`),
      (column) => read(`person?sort=${column}`),
      (column) => read(`person?sort=person.${column}`),
      (column) => read(`person?facets=${column}`),
      (column) => read(`person?expand=${column}`),
      (column) => read(`person?aggregate=max(${column})`),
      (column) => read(`person?aggregate=count&group=${column}`),
      (column) => read(`person/facets/${column}/search?q=seal`),
      (column) => post(`${tables}/person/aggregate`, { aggregate: `max(${column})` }),
      (column) => post(`${tables}/person/query`, { fields: column }),
      (column) => call('viewer', `/admin/tables/person/rows?columns=${column}`),
      (column) => call('viewer', `/admin/tables/person/count?filter=${encoded(`${column}='${secret}'`)}`),
      (column) => call('viewer', `/admin/tables/person/cell?id=1&column=${column}`),
    ]
    for (const [index, attempt] of attempts.entries()) {
      const absent = await attempt('absent')
      for (const name of ['email', 'shout', 'words', 'contact', 'mail_of']) {
        const hidden = await attempt(name)
        const shape = ({ status, text }: { status: number; text: string }, column: string) => [
          status,
          text.replaceAll(column, '?').replace(/"request_id":"[^"]*"/, ''),
        ]
        expect([index, name, ...shape(hidden, name)]).toEqual([index, name, ...shape(absent, 'absent')])
        expect(hidden.status).toBeGreaterThanOrEqual(400)
      }
    }
  })

  test('find nothing by a personal value', async () => {
    for (const path of [`person?search=${secret}`, `person?search=${secret}&fuzzy=true`]) {
      const found = await read(path)
      expect([path, found.json.totalItems ?? 0]).toEqual([path, 0])
      expect(found.text).not.toContain('Ann')
    }
    expect((await read(`person?search=${secret}`, 'support')).json.totalItems).toBe(1)
    const keys = [secret, 'absent'].map(async (key) => {
      const { status, text } = await read(`contact/${key}`)
      return [status, text.replaceAll(key, '?')]
    })
    const [known, unknown] = await Promise.all(keys)
    expect(known).toEqual(unknown)
    const tag = async () => (await read('person/1')).headers.get('etag')
    const before = await tag()
    await app.sql("update person set email = 'changed' where id = 1")
    expect(await tag()).toBe(before)
    await app.sql('update person set email = $1 where id = 1', [secret])
  })

  test('cannot reach the columns by views, functions, exports, SQL, streams and GraphQL', async () => {
    const user = '11111111-1111-4111-8111-111111111111'
    const attempts = [
      await read('people'),
      await read('person/export.csv'),
      await read('person/export.ndjson'),
      await read('person/export.json'),
      await call('viewer', '/rpc/mail_of'),
      await call('viewer', '/admin/tables/people/rows'),
      await call('viewer', `/admin/tables/person/rows?as=${user}&reason=x`),
      await call('viewer', `/admin/tables/person/count?as=${user}&reason=x`),
      await call('viewer', '/admin/realtime/stream?tables=person'),
      await call('viewer', '/admin/realtime/preview?tables=person'),
      await call('viewer', '/admin/audit'),
      await post('/admin/sql', { query: 'select email from person' }),
      await post('/admin/sql/explain', { query: 'select email from person' }),
      await post('/graphql', { query: '{ person { email } }' }),
      await post('/batch', {
        operations: [{ method: 'update', table: 'person', id: '1', body: { name: 'x' } }],
      }),
      await call('viewer', '/collections/person/1', { method: 'PATCH', body: { name: 'x' } }),
    ]
    expect(attempts.map(({ status }) => status)).toEqual(
      attempts.map(({ status }) => (status === 404 ? 404 : 403)),
    )
    for (const { text } of attempts) expect(text).not.toContain(secret)
    expect(await app.sql('select name from person where id = 1')).toEqual([{ name: 'Ann' }])
  })

  test('read users with masked addresses and phone numbers, and cannot search for one', async () => {
    const email = `${secret}@hidden.example`
    const [user] = await app.sql(
      "insert into basalt.users (id, email, phone) values (gen_random_uuid(), $1, '+4915112345678') returning id",
      [email],
    )
    for (const path of ['', `/${user?.id}`, `/names?ids=${user?.id}`]) {
      const seen = await call('viewer', `/admin/users${path}`)
      expect([path, seen.status]).toEqual([path, 200])
      expect(seen.text).toContain('s***@***')
      expect(seen.text).not.toMatch(/sealed|hidden|4915112345/)
      expect((await call('support', `/admin/users${path}`)).text).toContain(email)
    }
    expect((await call('viewer', `/admin/users/${user?.id}`)).json).toMatchObject({ phone: '***78' })
    for (const search of [email, 'sealed', '']) {
      const refused = await call('viewer', `/admin/users?search=${encodeURIComponent(search)}`)
      expect([refused.status, refused.json.error]).toEqual([403, 'insufficient_role'])
    }
    expect((await call('viewer', `/admin/users/${user?.id}/sessions`)).status).toBe(403)
    expect((await call('viewer', `/admin/users/${user?.id}/disable`, { method: 'POST' })).status).toBe(403)
  })

  test('read a column no more within two seconds of its tag', async () => {
    await app.sql("comment on column person.name is '@personal'")
    await waitFor('the new catalog', async () => !(await read('person/1')).text.includes('Ann'))
    await app.sql('comment on column person.name is null')
  })
})
