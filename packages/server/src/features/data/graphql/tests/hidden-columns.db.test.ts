import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { alice } from '../../../../../test/fixtures.ts'
import { runGraphql } from '../../../../../test/graphql.ts'
import { createTestApp, type TestApp, userToken } from '../../../../../test/test-app.ts'

let app: TestApp
const token = userToken({ sub: alice })

beforeAll(async () => {
  app = await createTestApp({
    setup: `
      create type level as enum ('very high', 'low');
      create table note (id int primary key, body text, "the pin" text, level level, rank int, token text, n bigint);
      revoke all on note from basalt_authenticated;
      grant select (id, body), insert (id, body, "the pin", level, n), update (body, rank) on note
        to basalt_authenticated;
      grant select (id), insert (id, "the pin") on note to basalt_anonymous;
      alter table note enable row level security;
      create policy everyone on note using (true)`,
  })
})
beforeEach(() => app.sql(`truncate note; insert into note (id, body, rank) values (1, 'one', 1)`))
afterAll(() => app[Symbol.asyncDispose]())

const run = (query: string, as: string | undefined = token) => runGraphql(app, query, { token: as })
const rows = () =>
  app.sql('select id, body, "the pin" as pin, level::text, rank, token, n::text from note order by id')
const blank = { body: null, pin: null, level: null, rank: null, token: null, n: null }
const one = { ...blank, id: 1, body: 'one', rank: 1 }

async function inputOf(name: string, as: string | undefined = token): Promise<string[]> {
  const { data } = await run(`{ __type(name: "${name}") { inputFields { name } } }`, as)
  return data.__type.inputFields.map((field: { name: string }) => field.name).toSorted()
}

describe('POST /api/graphql › columns that the caller may write but not read', () => {
  test('are members of the inputs for the privileges of the caller alone', async () => {
    expect(await inputOf('NoteInsertInput')).toEqual(['body', 'id', 'level', 'n', 'the_pin'])
    expect(await inputOf('NoteSetInput')).toEqual(['body', 'id', 'rank'])
    const { data } = await run('{ __type(name: "note") { fields { name } } }')
    const names = data.__type.fields.map(({ name }: { name: string }) => name)
    expect(names).toEqual(['id', 'body', '_highlight', '_highlightResult'])
    expect(await inputOf('NoteWhereInput')).toEqual(['_and', '_not', '_or', 'body', 'id'])
  })

  test('are written by an insert as by the REST API, and not returned', async () => {
    const values = '{id: 2, the_pin: "1234", level: very_high, n: "9007199254740993"}'
    const { data } = await run(`mutation { insert_note(objects: [${values}]) { returning { id body } } }`)
    expect(data).toEqual({ insert_note: { returning: [{ id: 2, body: null }] } })
    const body = '{"id": 3, "the pin": "1234", "level": "very high", "n": 9007199254740993}'
    const rest = await app.request('POST', '/api/collections/note', {
      token,
      body,
      headers: { 'content-type': 'application/json' },
    })
    expect([rest.status, rest.json]).toEqual([201, { id: 3, body: null }])
    const written = { ...blank, pin: '1234', level: 'very high', n: '9007199254740993' }
    expect(await rows()).toEqual([one, { ...written, id: 2 }, { ...written, id: 3 }])
  })

  test('are changed by an update', async () => {
    const { data } = await run(
      'mutation { update_note(where: {id: {_eq: 1}}, _set: {rank: 7}) { affected_rows } }',
    )
    expect(data).toEqual({ update_note: { affected_rows: 1 } })
    expect(await rows()).toEqual([{ ...one, rank: 7 }])
  })

  test('are not added to, which would read them', async () => {
    const { data, errors } = await run(
      'mutation { update_note(where: {id: {_eq: 1}}, _inc: {rank: 7}) { affected_rows } }',
    )
    expect([data, errors?.[0]?.extensions.code]).toEqual([null, 'insufficient_permissions'])
    expect(await rows()).toEqual([one])
  })

  test.each([
    [
      'written without a privilege',
      '_set: {token: "x"}',
      'Field "token" is not defined by type "NoteSetInput".',
    ],
    [
      'updated with a privilege to insert',
      '_set: {the_pin: "x"}',
      'Field "the_pin" is not defined by type "NoteSetInput".',
    ],
  ])('do not exist when %s', async (_what, change, message) => {
    const { errors } = await run(
      `mutation { update_note(where: {id: {_eq: 1}}, ${change}) { affected_rows } }`,
    )
    expect(errors?.[0]?.message).toContain(message)
  })

  test('follow the grants of requests without a token', async () => {
    const values = '[{id: 2, the_pin: "anyone"}]'
    const { data } = await runGraphql(
      app,
      `mutation { insert_note(objects: ${values}) { returning { id } } }`,
    )
    expect(data).toEqual({ insert_note: { returning: [{ id: 2 }] } })
    expect((await rows())[1]).toEqual({ ...blank, id: 2, pin: 'anyone' })
    const refused = await runGraphql(
      app,
      'mutation { insert_note(objects: [{id: 3, n: "1"}]) { affected_rows } }',
    )
    expect(refused.errors?.[0]?.message).toContain('Field "n" is not defined by type "NoteInsertInput".')
  })

  test('appear once a privilege is granted', async () => {
    await app.sql('grant insert (token) on note to basalt_authenticated')
    const { data } = await run('mutation { insert_note(objects: [{id: 5, token: "t"}]) { affected_rows } }')
    expect(data).toEqual({ insert_note: { affected_rows: 1 } })
    await app.sql('revoke insert (token) on note from basalt_authenticated')
  })
})
