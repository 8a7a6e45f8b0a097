import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { faultsOf } from '../../../../../test/faults.ts'
import { alice } from '../../../../../test/fixtures.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'

let app: TestApp
const token = userToken({ sub: alice })

beforeAll(async () => {
  app = await createTestApp({
    setup: `
      create extension citext;
      create domain label as varchar(20);
      create domain moments as timestamp[];
      create type shelf as (name text, at timestamp);
      create type bookcase as (shelves shelf[]);
      create table thing (
        id int primary key,
        text text, varchar varchar(40), char char(8), citext citext, domain label, texts text[], labels label[],
        bytes bytea, blobs bytea[],
        at timestamp, clock time, ats timestamp[], domain_ats moments, during tsrange, often tsmultirange,
        shelf shelf, shelves shelf[], bookcase bookcase,
        zoned timestamptz, document jsonb
      );
      create table stamped (at timestamp primary key, name text);
      create table blob (hash bytea primary key, name text);`,
  })
})
afterAll(async () => {
  expect(faultsOf(app)).toEqual([])
  await app[Symbol.asyncDispose]()
})

function send(method: string, path: string, body?: unknown) {
  return app.request(method, `/api/collections/${path}`, { token, ...(body === undefined ? {} : { body }) })
}

const notObject = 'expected a text, not an object'
const notArray = 'expected a text, not an array'
const notBytes = 'expected bytes in hexadecimal, e.g. "\\\\x48656c6c6f"'
const notLocal = (offset: string) =>
  `the column has no time zone: expected a time without the offset ${offset}, or in UTC`

describe('values that PostgreSQL would accept as something else', () => {
  test.each<[column: string, value: unknown, problem: string]>([
    ['text', {}, notObject],
    ['text', { a: 1 }, notObject],
    ['text', [], notArray],
    ['text', ['a'], notArray],
    ['varchar', { a: 1 }, notObject],
    ['char', [1], notArray],
    ['citext', { a: 1 }, notObject],
    ['domain', { a: 1 }, notObject],
    ['texts', ['a', { b: 1 }], notObject],
    ['texts', [['a'], [{ b: 1 }]], notObject],
    ['labels', [{}], notObject],
    ['shelf', { name: { a: 1 } }, `name: ${notObject}`],
    ['shelves', [{ name: 'a' }, { name: [1] }], `name: ${notArray}`],
    ['bytes', 'hello', notBytes],
    ['bytes', 'aGVsbG8=', notBytes],
    ['bytes', '', notBytes],
    ['bytes', '\\xabc', notBytes],
    ['bytes', '\\xzz', notBytes],
    ['bytes', '\\000', notBytes],
    ['bytes', 'x00', notBytes],
    ['bytes', 5, notBytes],
    ['bytes', true, notBytes],
    ['bytes', {}, notBytes],
    ['bytes', ['\\x00'], notBytes],
    ['blobs', ['\\x00', 'hello'], notBytes],
    ['blobs', '{hello}', notBytes],
    ['blobs', '{\\x00}', notBytes],
    ['at', '2026-01-02T03:04:05+02:00', notLocal('+02:00')],
    ['at', '2026-01-02 03:04:05-08', notLocal('-08')],
    ['at', '2026-01-02 03:04:05 Europe/Berlin', notLocal('Europe/Berlin')],
    ['clock', '03:04:05+02', notLocal('+02')],
    ['ats', ['2026-01-02T03:04:05', '2026-01-02T03:04:05+02:00'], notLocal('+02:00')],
    ['ats', [['2026-01-02T03:04:05+02:00']], notLocal('+02:00')],
    ['ats', '{"2026-01-02 03:04:05+02:00"}', notLocal('+02:00')],
    ['ats', '{2026-01-02T03:04:05+02:00}', notLocal('+02:00')],
    ['domain_ats', ['2026-01-02T03:04:05+02:00'], notLocal('+02:00')],
    ['during', '[2026-01-02T03:04:05+02:00,)', notLocal('+02:00')],
    ['during', '["2026-01-02 03:04:05","2026-02-02 03:04:05 PST")', notLocal('PST')],
    ['often', '{[2026-01-02T03:04:05+02:00,2026-02-02)}', notLocal('+02:00')],
    ['shelf', { at: '2026-01-02T03:04:05+02:00' }, `at: ${notLocal('+02:00')}`],
    ['shelves', [{ at: '2026-01-02T03:04:05+02:00' }], `at: ${notLocal('+02:00')}`],
  ])('rejects with the column: %s %j', async (column, value, problem) => {
    await app.sql('insert into thing (id) values (9) on conflict do nothing')
    const refusal = { code: 400, message: `${column}: ${problem}`, error: 'invalid_value' }
    const body = { [column]: value }
    expect(envelope(await send('POST', 'thing', { id: 1, ...body }))).toEqual(refusal)
    expect(envelope(await send('PATCH', 'thing/9', body))).toEqual(refusal)
    const operations = [
      { method: 'create', body: { id: 1 } },
      { method: 'update', id: 9, body },
    ]
    expect(envelope(await send('POST', 'thing/batch', { operations }))).toEqual({
      ...refusal,
      message: `operation[1]: ${refusal.message}`,
      operation: { index: 1, method: 'update' },
    })
    expect(await app.sql('select id from thing')).toEqual([{ id: 9 }])
  })
})

describe('unknown members of a composite type', () => {
  test.each<[column: string, value: unknown, unknown: string, within: string]>([
    ['shelf', { name: 'a', nmae: 'b' }, 'nmae', 'shelf'],
    ['shelf', { constructor: 'b' }, 'constructor', 'shelf'],
    ['shelves', [{ name: 'a' }, null, { Name: 'b' }], 'Name', 'shelves'],
    ['shelves', [[{ name: 'a' }], [{ expand: 'b' }]], 'expand', 'shelves'],
    ['bookcase', { shelves: [{ _name: 'a' }] }, '_name', 'bookcase.shelves'],
  ])('rejects by name: %s %j', async (column, value, unknown, within) => {
    await app.sql('delete from thing')
    const message = `unknown column "${unknown}" in ${within}`
    const refusal = { code: 400, message, error: 'unknown_column' }
    expect(envelope(await send('POST', 'thing', { id: 1, [column]: value }))).toEqual(refusal)
    const operations = [{ method: 'create', body: { id: 1, [column]: value } }]
    expect(envelope(await send('POST', 'thing/batch', { operations }))).toEqual({
      ...refusal,
      message: `operation[0]: ${message}`,
      operation: { index: 0, method: 'create' },
    })
    expect(envelope(await send('POST', 'thing/import', [{ id: 1, [column]: value }]))).toMatchObject({
      code: 409,
      error: 'import_failed',
      errors: [{ row: 1, message }],
    })
    expect(await app.sql('select id from thing')).toEqual([])
  })

  test('accepts a member that was just added', async () => {
    await app.sql('delete from thing')
    await app.sql('alter type shelf add attribute width int')
    const created = await send('POST', 'thing', { id: 1, shelf: { width: 5 } })
    expect([created.status, created.json.shelf]).toEqual([201, { name: null, at: null, width: 5 }])
    await app.sql('alter type shelf drop attribute width')
  })
})

describe('every other value', () => {
  test.each<[column: string, value: unknown, shown: unknown]>([
    ['text', '{"a":1}', '{"a":1}'],
    ['text', 5, '5'],
    ['text', 12345678901234567890n, '12345678901234567890'],
    ['text', true, 'true'],
    ['text', null, null],
    ['texts', ['a', null, 5], ['a', null, '5']],
    ['texts', '{a,"b c"}', ['a', 'b c']],
    ['texts', [['a'], ['b']], [['a'], ['b']]],
    ['bytes', '\\xDEADbeef', '\\xdeadbeef'],
    ['bytes', '\\x', '\\x'],
    ['bytes', null, null],
    ['blobs', ['\\x00', null], ['\\x00', null]],
    ['blobs', '{"\\\\x00",NULL}', ['\\x00', null]],
    ['at', '2026-01-02T03:04:05.5', '2026-01-02T03:04:05.5'],
    ['at', '2026-01-02T03:04:05Z', '2026-01-02T03:04:05'],
    ['at', '2026-01-02T03:04:05+00:00', '2026-01-02T03:04:05'],
    ['at', '2026-01-02', '2026-01-02T00:00:00'],
    ['at', 'infinity', 'infinity'],
    ['at', null, null],
    ['ats', ['2026-01-02T03:04:05', null], ['2026-01-02T03:04:05', null]],
    ['during', '[2026-01-02,2026-02-02)', '["2026-01-02 00:00:00","2026-02-02 00:00:00")'],
    ['clock', '03:04', '03:04:00'],
    ['zoned', '2026-01-02T03:04:05+02:00', '2026-01-02T01:04:05+00:00'],
    ['document', { text: [{}] }, { text: [{}] }],
    ['shelf', { name: 'a', at: '2026-01-02T03:04:05' }, { name: 'a', at: '2026-01-02T03:04:05' }],
    ['shelf', '(a,)', { name: 'a', at: null }],
  ])('accepts %s %s', async (column, value, shown) => {
    await app.sql('delete from thing')
    const json = typeof value === 'bigint' ? String(value) : JSON.stringify(value)
    const created = await send('POST', 'thing', `{"id":1,"${column}":${json}}`)
    expect([created.status, created.json[column]], created.text).toEqual([201, shown])
  })
})

describe('checks of compared values', () => {
  const filtered = (table: string, filter: string) =>
    send('GET', `${table}?filter=${encodeURIComponent(filter)}`)

  test.each([
    ["at = '2026-01-02T03:04:05+02:00'", `at: ${notLocal('+02:00')}`, 0],
    ["id = 1 AND at > '2026-01-02 PST'", `at: ${notLocal('PST')}`, 11],
    ["clock IN ('03:04', '03:04+02')", `clock: ${notLocal('+02')}`, 0],
    ["bytes = 'hello'", `bytes: ${notBytes}`, 0],
    ["during = '[2026-01-02T00:00:00+02:00,)'", `during: ${notLocal('+02:00')}`, 0],
  ])('apply to a filter: %s', async (filter, message, position) => {
    expect((await filtered('thing', filter)).json).toMatchObject({
      code: 400,
      error: 'invalid_filter',
      message: `invalid filter: ${message}`,
      data: { position },
    })
  })

  test('accept a filter that fits', async () => {
    await app.sql(
      String.raw`delete from thing; insert into thing (id, at, bytes) values (1, '2026-01-02 03:04', '\x00')`,
    )
    for (const filter of [
      "at = '2026-01-02T03:04:00Z'",
      "at IN ('2026-01-02T03:04', null)",
      String.raw`bytes = '\\x00'`,
    ]) {
      expect((await filtered('thing', filter)).json.totalItems, filter).toBe(1)
    }
  })

  test('apply to a record id', async () => {
    await app.sql(
      String.raw`insert into stamped values ('2026-01-02 03:04:05', 'a'); insert into blob values ('\x6869', 'b')`,
    )
    expect((await send('GET', 'stamped/2026-01-02T03:04:05')).json.name).toBe('a')
    expect((await send('GET', 'blob/%5Cx6869')).json.name).toBe('b')
    for (const path of ['stamped/2026-01-02T03:04:05%2B02:00', 'blob/hi']) {
      for (const method of ['GET', 'PATCH', 'DELETE']) {
        const response = await send(method, path, method === 'PATCH' ? { name: 'x' } : undefined)
        expect([response.status, response.json.error], response.text).toEqual([400, 'invalid_value'])
      }
    }
    const operations = [{ method: 'delete', id: 'hi' }]
    expect((await send('POST', 'blob/batch', { operations })).status).toBe(400)
    expect(await app.sql('select name from stamped union all select name from blob')).toHaveLength(2)
  })

  test('apply to a filter of a stream', async () => {
    const response = await app.request(
      'GET',
      `/api/realtime?tables=thing&filter=${encodeURIComponent('at=eq.2026-01-02T03:04:05+02:00')}`,
      { token },
    )
    expect([response.status, response.json.message]).toEqual([
      400,
      `invalid filter: at: ${notLocal('+02:00')}`,
    ])
  })
})
