import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { faultsOf } from '../../../../../test/faults.ts'
import { alice } from '../../../../../test/fixtures.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'
import type { ChangeLog } from '../../../../database/change-log.ts'
import { statement } from '../../../../database/connection/message.ts'

/** Types whose operators are outside every search path: those of extensions in a schema of their own. */

const setup = `
  create schema "Ext 1";
  grant usage on schema "Ext 1" to basalt_authenticated;
  create extension citext schema "Ext 1";
  create extension ltree schema "Ext 1";
  create extension hstore schema "Ext 1";
  create domain nickname as "Ext 1".citext check (length(value) < 20);
  -- A type that has "=" and nothing else, not even "<>".
  create type "Ext 1".token;
  create function "Ext 1".token_in(cstring) returns "Ext 1".token language internal immutable strict as 'textin';
  create function "Ext 1".token_out("Ext 1".token) returns cstring language internal immutable strict as 'textout';
  create type "Ext 1".token (input = "Ext 1".token_in, output = "Ext 1".token_out, like = text, collatable);
  create function "Ext 1".token_eq("Ext 1".token, "Ext 1".token) returns boolean
    language internal immutable strict as 'texteq';
  create operator "Ext 1".= (
    leftarg = "Ext 1".token, rightarg = "Ext 1".token, function = "Ext 1".token_eq, commutator = operator("Ext 1".=)
  );
  create table person (
    email "Ext 1".citext primary key,
    nick nickname,
    tags "Ext 1".citext[],
    branch "Ext 1".ltree,
    extra "Ext 1".hstore,
    token "Ext 1".token
  );
  insert into person values
    ('ada@x', 'Ada', '{Math}', 'Top.Science', 'b=>2', 'a'),
    ('Bob@x', 'bob', '{MATH,art}', 'Top', 'a=>1, c=>3', 'b'),
    ('CYD@x', 'ADA', null, 'Top.Science.Physics', 'a=>1', null),
    ('dan@x', null, '{}', null, null, 'd'),
    ('Eve@x', 'eve', '{art}', 'Top', '', 'e');
  create table spot (name "Ext 1".citext, branch "Ext 1".ltree, room int, primary key (name, branch));
  insert into spot values ('Hall', 'a.b', 1), ('Yard', 'a', 2);
  create table letter (
    id int primary key,
    sender "Ext 1".citext references person on update cascade on delete cascade,
    place nickname,
    branch "Ext 1".ltree,
    foreign key (place, branch) references spot
  );
  insert into letter values (1, 'ADA@X', 'HALL', 'a.b'), (2, 'ada@x', 'hall', 'a.b'), (3, 'BOB@X', null, null);`

let isCaptured = false
const changes: ChangeLog = {
  hasTriggers: false,
  capture: () =>
    isCaptured
      ? { call: { statement: statement('select 1 as captured'), values: [] }, takesChanges: true }
      : undefined,
  doubt: () => undefined,
  committed: () => undefined,
}

let app: TestApp
const token = userToken({ sub: alice })

beforeAll(async () => {
  app = await createTestApp({ setup, changes })
})
afterAll(async () => {
  expect(faultsOf(app)).toEqual([])
  await app[Symbol.asyncDispose]()
})

function send(method: string, path: string, body?: unknown) {
  return app.request(method, `/api/collections/${path}`, { token, ...(body === undefined ? {} : { body }) })
}

async function emailsOf(parameters: Readonly<Record<string, string>>): Promise<string[]> {
  const query = new URLSearchParams({ fields: 'email', ...parameters })
  const { json, text } = await send('GET', `person?${query}`)
  expect(json.items, text).toBeDefined()
  return json.items.map(({ email }: { email: string }) => email.slice(0, 3))
}

test.each([
  ["email = 'ADA@X'", ['ada']],
  ["nick = 'aDA'", ['ada', 'CYD']],
  ["nick != 'ada'", ['Bob', 'Eve']],
  ["nick > 'ADA'", ['Bob', 'Eve']],
  ["nick >= 'BOB'", ['Bob', 'Eve']],
  ["nick < 'BOB'", ['ada', 'CYD']],
  ["nick <= 'BOB'", ['ada', 'Bob', 'CYD']],
  ["nick ~ 'A%'", ['ada', 'CYD']],
  ["nick !~ '%B'", ['ada', 'CYD', 'Eve']],
  ["nick IN ('ADA', 'EVE', null)", ['ada', 'CYD', 'Eve']],
  ['nick = null', ['dan']],
  ["tags = '{math}'", ['ada']],
  ["tags IN ('{math}', '{ART}')", ['ada', 'Eve']],
  ["tags > '{ART}'", ['ada', 'Bob']],
  ["branch = 'Top'", ['Bob', 'Eve']],
  ["branch != 'Top'", ['ada', 'CYD']],
  ["branch > 'Top'", ['ada', 'CYD']],
  ["branch <= 'Top.Science'", ['ada', 'Bob', 'Eve']],
  ["branch IN ('Top.Science', 'Top.Science.Physics')", ['ada', 'CYD']],
  ["extra = 'c=>3, a=>1'", ['Bob']],
  ["extra != 'a=>1'", ['ada', 'Bob', 'Eve']],
  ["extra IN ('', 'b=>2')", ['ada', 'Eve']],
  ["token = 'a'", ['ada']],
  ["token != 'a'", ['Bob', 'dan', 'Eve']],
  ["token IN ('a', 'e')", ['ada', 'Eve']],
  ["nick = 'ADA' AND (branch = 'Top.Science' OR email = 'cyd@x')", ['ada', 'CYD']],
])('extension types › a filter compares by the operators of the type: %s', async (filter, emails) => {
  expect(await emailsOf({ filter })).toEqual(emails)
})

test('extension types › a filter rejects an operator that the type does not have', async () => {
  const response = await send('GET', `person?filter=${encodeURIComponent("token > 'a'")}`)
  expect(envelope(response)).toMatchObject({
    code: 400,
    message: 'invalid filter: operator > does not apply to token, which is "Ext 1".token',
  })
})

test('extension types › a value whose parts are too long for its type is rejected', async () => {
  const branch = 'x'.repeat(1001)
  const requests = [
    send('POST', 'person', { email: 'long@x', branch }),
    send('GET', `person?filter=${encodeURIComponent(`branch = '${branch}'`)}`),
    send('GET', `spot/Hall,${branch}`),
  ]
  for (const response of await Promise.all(requests)) {
    expect(envelope(response)).toMatchObject({ code: 400, error: 'invalid_value' })
  }
})

test.each(['', 'email', 'nick', 'branch', 'extra', 'tags', 'nick,-branch'])(
  'extension types › pages by cursor concatenate to the list: %s',
  async (column) => {
    for (const sort of [column, `-${column}`].filter((text) => text !== '-')) {
      const whole = await emailsOf({ sort })
      expect(whole).toHaveLength(5)
      const found: string[] = []
      for (let cursor: string | undefined = ''; cursor !== undefined; ) {
        const page = await send('GET', `person?${new URLSearchParams({ sort, perPage: '1', cursor })}`)
        expect(page.status, page.text).toBe(200)
        found.push(...page.json.items.map(({ email }: { email: string }) => email.slice(0, 3)))
        cursor = found.length > 5 ? undefined : page.json.nextCursor
      }
      expect(found).toEqual(whole)
    }
  },
)

describe('extension types › a record is addressed by the equality of its key', () => {
  test.each([false, true])('with and without a listener: %s', async (listens) => {
    isCaptured = listens
    try {
      expect((await send('GET', 'person/ADA@X?fields=email')).json).toEqual({ email: 'ada@x' })
      await app.sql(`insert into person (email) values ('Fay@x'); insert into spot values ('Den', 'x.y', 3)`)
      expect((await send('PATCH', 'person/FAY@X', { nick: 'F' })).json).toMatchObject({
        email: 'Fay@x',
        nick: 'F',
      })
      expect((await send('PATCH', 'spot/DEN,x.y', { room: 4 })).json).toEqual({
        name: 'Den',
        branch: 'x.y',
        room: 4,
      })
      const operations = [
        { method: 'update', id: 'fay@X', body: { branch: 'b' } },
        { method: 'delete', id: 'FAY@x' },
      ]
      const batch = await send('POST', 'person/batch', { operations })
      expect(batch.json[0].body).toMatchObject({ email: 'Fay@x', branch: 'b' })
      expect((await send('DELETE', 'spot/dEN,x.y')).status).toBe(204)
      expect(await app.sql(`select from person where email::text = 'Fay@x'`)).toEqual([])
      expect(await app.sql('select from spot where room > 2')).toEqual([])
    } finally {
      isCaptured = false
    }
  })

  test('and created', async () => {
    const body = { name: 'Loft', branch: 'c.d', room: 9 }
    expect((await send('POST', 'spot', body)).json).toEqual(body)
    expect((await send('POST', 'spot', { ...body, name: 'LOFT' })).status).toBe(409)
    expect((await send('DELETE', 'spot/loft,c.d')).status).toBe(204)
  })
})

test('extension types › expand follows a relation by the equality of its key', async () => {
  const { json } = await send('GET', 'letter?expand=sender,spot&fields=id')
  const related = json.items.map(
    ({ id, expand }: { id: number; expand: Record<string, Record<string, unknown>> }) => [
      id,
      expand.person?.email,
      expand.spot?.room,
    ],
  )
  expect(related).toEqual([
    [1, 'ada@x', 1],
    [2, 'ada@x', 1],
    [3, 'Bob@x', undefined],
  ])
  const back = await send('GET', 'person/ada@x?expand=letter.spot&fields=email')
  expect(back.json.expand.letter).toMatchObject([
    { id: 1, expand: { spot: { room: 1 } } },
    { id: 2, expand: { spot: { room: 1 } } },
  ])
  expect((await send('GET', 'spot/hall,a.b?expand=letter')).json.expand.letter).toHaveLength(2)
})

describe('extension types › a changed definition', () => {
  test('is followed when the schema is renamed', async () => {
    await app.sql('alter schema "Ext 1" rename to ext')
    try {
      expect(await emailsOf({ filter: "email = 'EVE@X' OR branch = 'Top.Science'" })).toEqual(['ada', 'Eve'])
      const body = { email: 'gus@x', nick: 'G' }
      expect((await send('POST', 'person', body)).json).toMatchObject(body)
      expect((await send('DELETE', 'person/GUS@x')).status).toBe(204)
    } finally {
      await app.sql('alter schema ext rename to "Ext 1"')
    }
  })

  test('is followed when a type gets an order', async () => {
    await app.app.catalog.refresh()
    const sorted = () => send('GET', 'person?sort=-token&fields=token&perPage=2&cursor=')
    expect((await sorted()).status).toBe(400)
    for (const [name, operator] of Object.entries({ lt: '<<<', le: '<<=', ge: '>>=', gt: '>>>' })) {
      await app.sql(`
        create function "Ext 1".token_${name}("Ext 1".token, "Ext 1".token) returns boolean
          language internal immutable strict as 'text_${name}';
        create operator "Ext 1".${operator} (
          leftarg = "Ext 1".token, rightarg = "Ext 1".token, function = "Ext 1".token_${name}
        )`)
    }
    await app.sql(`
      create function "Ext 1".token_cmp("Ext 1".token, "Ext 1".token) returns int
        language internal immutable strict as 'bttextcmp'`)
    await app.app.catalog.refresh()
    await app.sql(`
      create operator class "Ext 1".token_ops default for type "Ext 1".token using btree as
        operator 1 "Ext 1".<<<, operator 2 "Ext 1".<<=, operator 3 "Ext 1".=, operator 4 "Ext 1".>>=,
        operator 5 "Ext 1".>>>, function 1 "Ext 1".token_cmp("Ext 1".token, "Ext 1".token)`)
    await app.app.catalog.refresh()
    const first = await sorted()
    expect(first.json.items).toEqual([{ token: null }, { token: 'e' }])
    const second = await send(
      'GET',
      `person?sort=-token&fields=token&perPage=2&cursor=${first.json.nextCursor}`,
    )
    expect(second.json.items).toEqual([{ token: 'd' }, { token: 'b' }])
    expect(await emailsOf({ filter: "token >= 'c'" })).toEqual(['dan', 'Eve'])
  })
})

test('extension types › a caller without usage on the schema is rejected, rather than served by other operators', async () => {
  await app.sql('revoke usage on schema "Ext 1" from basalt_authenticated')
  try {
    const refused = await send('GET', `person?filter=${encodeURIComponent("nick >= 'ADA'")}`)
    expect(envelope(refused)).toEqual({
      code: 403,
      message: 'insufficient permissions',
      error: 'insufficient_permissions',
    })
    expect(await emailsOf({ sort: '-nick' })).toEqual(['dan', 'Eve', 'Bob', 'ada', 'CYD'])
  } finally {
    await app.sql('grant usage on schema "Ext 1" to basalt_authenticated')
  }
})
