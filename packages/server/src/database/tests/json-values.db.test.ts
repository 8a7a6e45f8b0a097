import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../../../test/test-app.ts'
import { jsonReader } from '../json-values.ts'

let database: TestDatabase
let client: pg.Client

beforeAll(async () => {
  database = await createTestDatabase()
  client = new pg.Client({ connectionString: database.url })
  await client.connect()
  await client.query(`create type mood as enum ('sad', 'happy'); set timezone to 'UTC'`)
})
afterAll(async () => {
  await client.end()
  await database[Symbol.asyncDispose]()
})

/** Numbers whose digits matter are compared as JSON text. */
test.each([
  ['null::int', 'null'],
  ['1::int2', '1'],
  ['9223372036854775807::int8', '9223372036854775807'],
  ['1.10::numeric', '1.10'],
  ['123456789012345678901234567890.5::numeric', '123456789012345678901234567890.5'],
  [`'NaN'::numeric`, '"NaN"'],
  [`'-Infinity'::float8`, '"-Infinity"'],
  ['1e300::float8', '1e+300'],
  ['1e-7::float4', '1e-07'],
  ['true', 'true'],
  ['false', 'false'],
  [
    `'{"a": 1.10, "b": [12345678901234567890, null, "x"]}'::jsonb`,
    '{"a":1.10,"b":[12345678901234567890,null,"x"]}',
  ],
  [`'null'::json`, 'null'],
  [`'x"\\y'::text`, '"x\\"\\\\y"'],
  [`'happy'::mood`, '"happy"'],
  [`'\\x00ff'::bytea`, '"\\\\x00ff"'],
  [`'2026-01-02'::date`, '"2026-01-02"'],
  [`'2026-01-02 03:04:05+00'::timestamptz`, '"2026-01-02 03:04:05+00"'],
  [`'550e8400-e29b-41d4-a716-446655440000'::uuid`, '"550e8400-e29b-41d4-a716-446655440000"'],
  ['array[1, null, 3]', '[1,null,3]'],
  ['array[]::int[]', '[]'],
  ['array[[1, 2], [3, 4]]', '[[1,2],[3,4]]'],
  [`'[0:1]={7,8}'::int[]`, '[7,8]'],
  ['array[9223372036854775807]', '[9223372036854775807]'],
  ['array[1.10, 2.00]', '[1.10,2.00]'],
  ['array[true, false]', '[true,false]'],
  [
    `array['', 'a,b', 'c}d', 'e"f', 'g\\h', ' i ', 'NULL', null]`,
    '["","a,b","c}d","e\\"f","g\\\\h"," i ","NULL",null]',
  ],
  [`array['{"a": [1]}'::jsonb]`, '[{"a":[1]}]'],
  [`array['2026-01-02'::date]`, '["2026-01-02"]'],
  [`array['happy'::mood]`, '"{happy}"'],
])('JSON values › convert %s to %s', async (expression, json) => {
  const types = { getTypeParser: jsonReader }
  const result = await client.query({ text: `select ${expression}`, rowMode: 'array', types })
  expect(result.rows.map((row) => JSON.stringify(row[0]))).toEqual([json])
})
