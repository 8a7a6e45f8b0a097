import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice } from '../../../../../test/fixtures.ts'
import { createTestApp, type TestApp, type TestResponse, userToken } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'

/**
 * A server with prepared statements on a table before the table changes, compared with a server that has just
 * started.
 */

const token = userToken({ sub: alice })
const connections = 4
/** More requests than connections, so that each connection is used. */
const crowd = 6

let warm: TestApp

beforeAll(async () => {
  warm = await createTestApp({ config: { 'database.max_conns': String(connections) } })
})
afterAll(() => warm[Symbol.asyncDispose]())

interface Case {
  readonly name: string
  readonly setup: string
  readonly ddl: string
  /** Filters of `thing.v`. */
  readonly filters: readonly string[]
  /** Values written to `thing.v`. */
  readonly values: readonly unknown[]
  /** Keys of single records. */
  readonly ids?: readonly string[]
}

/** Returns the DDL of the tables. `thing.v` changes, `part` refers to `thing`, and `seen` is a view of it. */
function tables(type: string, values: readonly string[], idType = 'int'): string {
  const rows = values.map((value, index) => `(${index + 1}, ${value}, 'n')`).join()
  return `
    create table thing (id ${idType} primary key, v ${type}, note text);
    insert into thing (id, v, note) values ${rows};
    create table part (id int primary key, thing_id ${idType} references thing);
    insert into part values (1, 1), (2, 1), (3, 2);
    create view seen as select id, v, note from thing;`
}

const withoutView = 'drop view seen;'
const withView = ';create view seen as select id, v, note from thing;'
const alterType = (type: string, using = '') =>
  `${withoutView} alter table thing alter column v type ${type} ${using} ${withView}`

const cases: readonly Case[] = [
  {
    name: 'int becomes bigint',
    setup: tables('int', ['1', '2']),
    ddl: alterType('bigint'),
    filters: ['v=1', 'v=3000000000', "v='x'", 'v in (1,3000000000)', 'v>2'],
    values: [7, 3_000_000_000, 'x'],
  },
  {
    name: 'bigint becomes int',
    setup: tables('bigint', ['1', '2']),
    ddl: alterType('int'),
    filters: ['v=1', 'v=3000000000', 'v in (1,3000000000)'],
    values: [7, 3_000_000_000],
  },
  {
    name: 'int becomes text',
    setup: tables('int', ['1', '2']),
    ddl: alterType('text'),
    filters: ["v='1'", "v='abc'", "v~'1%'", "v in ('1','abc')", "v>'abc'"],
    values: ['abc', 7],
  },
  {
    name: 'text becomes int',
    setup: tables('text', ["'1'", "'2'"]),
    // A writer may have left its text for a moment.
    ddl: alterType('int', "using case when v <> 'abc' then v::int end"),
    filters: ['v=1', "v='abc'", 'v in (1,2)', 'v>1'],
    values: ['abc', 7],
  },
  {
    name: 'numeric becomes int',
    setup: tables('numeric', ['1', '2']),
    ddl: alterType('int'),
    filters: ['v=1', 'v=1.5', 'v in (1,1.5)'],
    values: [7, 1.5],
  },
  {
    name: 'numeric gets another scale',
    setup: tables('numeric(4,1)', ['1', '2']),
    ddl: alterType('numeric(12,4)'),
    filters: ['v=1', 'v=1.2345', 'v<99999.5'],
    values: [7, 12345.6789],
  },
  {
    name: 'date becomes timestamptz',
    setup: tables('date', ["'2026-01-01'", "'2026-01-02'"]),
    ddl: alterType('timestamptz'),
    filters: ["v='2026-01-01'", "v>'2026-01-01T12:00:00Z'"],
    values: ['2026-03-01T12:34:56Z', '2026-03-01'],
  },
  {
    name: 'an array gets other elements',
    setup: tables('int[]', ["'{1}'", "'{2,3}'"]),
    ddl: alterType('text[]', 'using v::text[]'),
    filters: ["v='{1}'", "v='{a,b}'", "v in ('{1}','{a}')"],
    values: [['a'], [1], '{x}'],
  },
  {
    name: 'an enum is dropped and made again',
    setup: `create type mood as enum ('ok', 'bad'); ${tables('mood', ["'ok'", "'bad'"])}`,
    ddl: `${withoutView} alter table thing drop column v; drop type mood; create type mood as enum ('new', 'ok');
      alter table thing add column v mood default 'ok' ${withView}`,
    filters: ["v='ok'", "v='new'", "v='bad'", "v in ('ok','new')", "v>'new'"],
    values: ['new', 'bad', 'ok'],
  },
  {
    name: 'an enum is replaced by one of its name',
    setup: `create type mood as enum ('ok', 'bad'); ${tables('mood', ["'ok'", "'bad'"])}`,
    ddl: `${withoutView} alter type mood rename to mood_before; create type mood as enum ('ok', 'bad', 'new');
      alter table thing alter column v type mood using v::text::mood; drop type mood_before ${withView}`,
    filters: ["v='ok'", "v='new'", "v in ('ok','new')"],
    values: ['new', 'bad'],
  },
  {
    name: 'an enum gets and renames a value',
    setup: `create type mood as enum ('ok', 'bad'); ${tables('mood', ["'ok'", "'bad'"])}`,
    ddl: `alter type mood rename value 'bad' to 'sad'; alter type mood add value 'new'`,
    filters: ["v='sad'", "v='bad'", "v='new'"],
    values: ['new', 'bad', 'sad'],
  },
  {
    name: 'a domain gets a constraint',
    setup: `create domain age as int; ${tables('age', ['1', '2'])}`,
    ddl: 'alter domain age add check (value < 100) not valid',
    filters: ['v=1', 'v=200'],
    values: [7, 200],
  },
  {
    name: 'a domain is made again over another type',
    setup: `create domain age as int; ${tables('age', ['1', '2'])}`,
    ddl: `${withoutView} alter table thing alter column v type text; drop domain age; create domain age as text check (value <> 'no');
      alter table thing alter column v type age ${withView}`,
    filters: ["v='1'", "v='abc'"],
    values: ['abc', 'no', 7],
  },
  {
    name: 'a composite type gets another attribute type',
    setup: `create type address as (street text, number int); ${tables('address', ["'(a,1)'", "'(b,2)'"])}`,
    ddl: `${withoutView} alter table thing drop column v; drop type address; create type address as (street text, number text);
      alter table thing add column v address default '(a,1)' ${withView}`,
    filters: ["v='(a,1)'", "v='(a,12b)'", "v in ('(a,1)','(b,x)')"],
    values: [{ street: 'c', number: '12b' }, '(c,12b)'],
  },
  {
    name: 'the key becomes bigint',
    setup: tables('int', ['1', '2']),
    ddl: `${withoutView} alter table part alter column thing_id type bigint;
      alter table thing alter column id type bigint ${withView}`,
    filters: ['id=1', 'id=3000000000', 'v=1'],
    values: [7],
    ids: ['1', '3000000000', 'x'],
  },
  {
    name: 'the key becomes text',
    setup: tables('int', ['1', '2']),
    ddl: `${withoutView} alter table part drop constraint part_thing_id_fkey;
      alter table thing alter column id type text; alter table part alter column thing_id type text;
      alter table part add foreign key (thing_id) references thing ${withView}`,
    filters: ["id='1'", "id='abc'"],
    values: [7],
    ids: ['1', 'abc'],
  },
  {
    name: 'columns are added, dropped and renamed',
    setup: `${tables('int', ['1', '2'])} alter table thing add column gone int, add column other text`,
    ddl: `${withoutView} alter table thing drop column gone, add column more int default 5;
      alter table thing rename column v to w; alter table thing rename column other to v ${withView}`,
    filters: ["v='x'", 'w=1', 'gone=1', 'more=5'],
    values: ['x', 7],
  },
  {
    name: 'the tables are dropped and made again',
    setup: tables('int', ['1', '2']),
    ddl: `drop view seen; drop table part; drop table thing; ${tables('uuid', [
      "'550e8400-e29b-41d4-a716-446655440000'",
      'null',
    ])}`,
    filters: ["v='550e8400-e29b-41d4-a716-446655440000'", 'v=1', 'v=null'],
    values: ['550e8400-e29b-41d4-a716-446655440001', 7],
  },
  {
    name: 'the view shows something else',
    setup: tables('int', ['1', '2']),
    ddl: `drop view seen; create view seen as select id, v::text || 'x' as v, v as more from thing`,
    filters: ["v='1x'", 'v=1', 'more=1'],
    values: [7],
  },
  {
    name: 'a function behind the view changes',
    setup: `create function shown(int) returns int language sql immutable as 'select $1';
      ${tables('int', ['1', '2'])} drop view seen; create view seen as select id, shown(v) as v from thing`,
    ddl: `drop function shown cascade; create function shown(int) returns text language sql immutable as 'select $1 || ''y''';
      create view seen as select id, shown(v) as v from thing`,
    filters: ["v='1y'", 'v=1'],
    values: [7],
  },
]

/** Response of a request, without the parts that differ from request to request. */
type Answer = readonly [status: number, body: string]

function answerOf({ status, text }: TestResponse): Answer {
  return [status, text.replaceAll(/http:\/\/127.0.0.1:\d+/g, '').replaceAll(/"id":"?\d{4,}"?/g, '"id":"…"')]
}

function readsOf({ filters, ids = ['1'] }: Case): readonly string[] {
  const encoded = filters.map((filter) => `filter=${encodeURIComponent(filter)}`)
  return [
    ...['thing', 'seen'].flatMap((collection) =>
      [...encoded, 'sort=v', 'sort=-v&perPage=1', 'cursor=&sort=v&perPage=1'].map(
        (query) => `${collection}?${query}`,
      ),
    ),
    ...ids.flatMap((id) => [`thing/${id}`, `thing/${id}?expand=part`]),
    'part?expand=thing&sort=id',
    'thing?expand=part&sort=id',
  ]
}

function read(app: TestApp, path: string): Promise<TestResponse> {
  return app.request('GET', `/api/collections/${path}`, { token })
}

let nextId = 1000

/** Writes the value in each way, and restores the old one. */
async function write(app: TestApp, value: unknown): Promise<readonly Answer[]> {
  nextId += 1
  const id = String(nextId)
  const send = (method: string, path: string, body?: unknown) =>
    app.request(method, `/api/collections/thing${path}`, { token, ...(body === undefined ? {} : { body }) })
  const created = await send('POST', '', { id, v: value })
  await send('POST', '', { id })
  const updated = await send('PATCH', `/${id}`, { v: value })
  const deleted = await send('DELETE', `/${id}`)
  const batch = await send('POST', '/batch', {
    operations: [
      { method: 'create', body: { id, v: value } },
      { method: 'delete', id },
    ],
  })
  return [created, updated, deleted, batch].map(answerOf)
}

/** Repeats every request until it is stopped. */
function startRequests(requests: readonly (() => Promise<readonly Answer[]>)[]) {
  const faults: Answer[] = []
  let isStopped = false
  let answered = 0
  const workers = Array.from({ length: 6 }, async (_, worker) => {
    for (let turn = worker; !isStopped; turn += 1) {
      const answers = await requests[turn % requests.length]?.()
      answered += 1
      faults.push(...(answers ?? []).filter(([status]) => status >= 500))
    }
  })
  return {
    /** Responses that blame the server. */
    faults,
    more: async () => {
      const before = answered
      await waitFor('more answers', () => answered > before + 2 * requests.length)
    },
    async stop() {
      isStopped = true
      await Promise.all(workers)
    },
  }
}

const drop = `
  drop view if exists seen; drop table if exists part, thing; drop function if exists shown;
  drop domain if exists age; drop type if exists mood, address`

describe('collections › prepared statements', () => {
  test.each(cases)('return the same as those of a fresh server after $name', async (changed) => {
    await warm.sql(changed.setup)
    await warm.app.catalog.refresh()
    const reads = readsOf(changed)
    try {
      for (const path of reads) await Promise.all(Array.from({ length: crowd }, () => read(warm, path)))
      for (const value of changed.values) {
        await Promise.all(Array.from({ length: crowd }, () => write(warm, value)))
      }
      const load = startRequests([
        ...reads.map((path) => async () => [answerOf(await read(warm, path))]),
        ...changed.values.map((value) => () => write(warm, value)),
      ])
      try {
        await load.more()
        await warm.sql(changed.ddl)
        await load.more()
      } finally {
        await load.stop()
      }
      expect(load.faults).toEqual([])
      await warm.sql("delete from thing where id::text ~ '^\\d{4}$' or id is null")

      await warm.app.catalog.refresh()
      await using fresh = await createTestApp({ database: warm.database })
      for (const path of reads) {
        const expected = answerOf(await read(fresh, path))
        const answers = await Promise.all(Array.from({ length: crowd }, () => read(warm, path)))
        for (const answer of answers) expect([path, ...answerOf(answer)]).toEqual([path, ...expected])
      }
      for (const value of changed.values) {
        const expected = await write(fresh, value)
        const answers = await Promise.all(Array.from({ length: crowd }, () => write(warm, value)))
        for (const answer of answers) expect([value, ...answer]).toEqual([value, ...expected])
      }
    } finally {
      await warm.sql(drop)
    }
  })
})
