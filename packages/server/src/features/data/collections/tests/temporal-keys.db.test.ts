import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { createTestApp, envelope, type TestApp, type TestResponse } from '../../../../../test/test-app.ts'

/** Keys WITHOUT OVERLAPS and foreign keys with PERIOD (PostgreSQL 18, CREATE TABLE). */

const setup = `
create extension btree_gist;
create table rate (
  room int, during int4range, price int,
  primary key (room, during without overlaps)
);
create table stay (
  id int primary key, room int, during int4range,
  foreign key (room, period during) references rate (room, period during)
);
insert into rate values (1, '[1,10)', 50), (1, '[10,20)', 60);
insert into stay values (1, 1, '[3,15)');
`

let app: TestApp
let token: string
let hasTemporalKeys = false

beforeAll(async () => {
  app = await createTestApp({})
  token = await app.adminToken()
  const [server] = await app.sql<{ version: number }>(
    "select current_setting('server_version_num')::int as version",
  )
  hasTemporalKeys = (server?.version ?? 0) >= 180_000
  if (hasTemporalKeys) await app.sql(setup)
})
beforeEach(({ skip }) => skip(!hasTemporalKeys, 'temporal keys are of PostgreSQL 18'))
afterAll(async () => {
  await app[Symbol.asyncDispose]()
})

function request(method: string, path: string, body?: unknown): Promise<TestResponse> {
  return app.request(method, `/api/${path}`, { token, ...(body === undefined ? {} : { body }) })
}

describe('key without overlaps', () => {
  test('addresses its record', async () => {
    const response = await request('GET', `collections/rate/1,${encodeURIComponent('[1,10)')}`)
    expect(response.json).toEqual({ room: 1, during: '[1,10)', price: 50 })
  })

  test('rejects an overlapping record with 400', async () => {
    const response = await request('POST', 'collections/rate', { room: 1, during: '[5,6)' })
    expect(envelope(response)).toMatchObject({ code: 400, error: 'exclusion_violation' })
  })

  const record = { room: 1, during: '[1,10)', price: 70 }
  test.each([
    ['collections/rate?onConflict=room,during', record, 'onConflict: "rate" has no unique key'],
    [
      'batch',
      { operations: [{ table: 'rate', method: 'create', onConflict: 'room,during', body: record }] },
      'operation[0]: onConflict: "rate" has no unique key',
    ],
    [
      'collections/rate/import?on_conflict=update',
      [record],
      'on_conflict: the primary key of "rate" is deferrable or allows no overlaps',
    ],
    [
      'collections/rate/import?on_conflict=skip',
      [record],
      'on_conflict: the primary key of "rate" is deferrable or allows no overlaps',
    ],
  ])('cannot be named by POST %s', async (path, body, message) => {
    expect(envelope(await request('POST', path, body))).toMatchObject({
      code: 400,
      error: 'invalid_parameter',
      message,
    })
  })

  test('leads to no related record, as several together cover a range', async () => {
    for (const [table, relation] of [
      ['stay', 'rate'],
      ['rate', 'stay'],
    ]) {
      expect(envelope(await request('GET', `collections/${table}?expand=${relation}`))).toEqual({
        code: 400,
        error: 'unknown_relation',
        message: `unknown relation "${relation}" of ${table} in expand`,
      })
    }
    const { tables } = (await request('GET', 'schema')).json
    expect(tables['public.stay'].foreignKeys).toMatchObject([
      { columns: ['room', 'during'], referencedTable: 'rate', referencedColumns: ['room', 'during'] },
    ])
  })
})
