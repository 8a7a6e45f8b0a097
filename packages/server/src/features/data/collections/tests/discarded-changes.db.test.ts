import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { alice } from '../../../../../test/fixtures.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'

let app: TestApp

/** Records that a trigger marks as deleted, or keeps unchanged. Every attempt is recorded. */
const schema = `
  create table attempt (entry text);
  create table note (id int primary key, body text, is_deleted bool not null default false);
  create function keep() returns trigger language plpgsql as $$
  begin
    insert into attempt values (tg_op || ' ' || coalesce(new.id, old.id));
    if tg_op = 'DELETE' then update note set is_deleted = true where id = old.id; return null; end if;
    if new.body = 'discard' then return null; end if;
    return new;
  end $$;
  create trigger keep before insert or update or delete on note for each row execute function keep();
  create table own (id int primary key, body text, changes int not null default 0);
  create function count_changes() returns trigger language plpgsql as $$
  begin
    if tg_op = 'DELETE' then return old; end if;
    new.changes := old.changes + 1;
    return new;
  end $$;
  create trigger count_changes before update or delete on own for each row execute function count_changes();
  alter table own enable row level security;
  create policy see on own for select using (true);
  create policy edit on own for update using (id < 10);
  create policy remove on own for delete using (id < 10)`

beforeAll(async () => {
  app = await createTestApp({ setup: schema })
})
afterAll(() => app[Symbol.asyncDispose]())
beforeEach(() =>
  app.sql(`
    alter table note disable trigger keep;
    truncate note, attempt;
    insert into note values (1, 'one');
    alter table note enable trigger keep`),
)

const changeDiscarded = {
  code: 409,
  message: 'the database discarded the change: a trigger of the table kept the record as it was',
  error: 'change_discarded',
}
const rowDiscarded = {
  code: 409,
  message: 'the database discarded the record: a trigger or rule of the table did not store it',
  error: 'row_discarded',
}
const notFound = { code: 404, message: 'record not found', error: 'record_not_found' }

async function state() {
  return {
    notes: await app.sql('select * from note order by id'),
    attempts: await app.sql('select entry from attempt'),
  }
}

describe.each([
  ['an administrator', () => app.adminToken()],
  ['a caller', () => userToken({ sub: alice })],
])('discarded changes › a change of %s that a trigger discards', (_who, tokenOf) => {
  test.each([
    ['a delete', 'DELETE', 'note/1', undefined, changeDiscarded],
    ['an update', 'PATCH', 'note/1', { body: 'discard' }, changeDiscarded],
    ['a create', 'POST', 'note', { id: 2, body: 'discard' }, rowDiscarded],
    ['a delete of no record', 'DELETE', 'note/3', undefined, notFound],
    ['an update of no record', 'PATCH', 'note/3', { body: 'discard' }, notFound],
  ])('%s is rejected, and no effect of the trigger remains', async (_what, method, path, body, expected) => {
    const before = await state()
    const response = await app.request(method, `/api/collections/${path}`, {
      token: await tokenOf(),
      ...(body === undefined ? {} : { body }),
    })
    expect(envelope(response)).toEqual(expected)
    expect(await state()).toEqual(before)
  })

  test('names the operation of a batch, and undoes the batch', async () => {
    const before = await state()
    const response = await app.request('POST', '/api/collections/note/batch', {
      token: await tokenOf(),
      body: {
        operations: [
          { method: 'create', body: { id: 5, body: 'five' } },
          { method: 'delete', id: '1' },
        ],
      },
    })
    expect(envelope(response)).toEqual({ ...changeDiscarded, operation: { index: 1, method: 'delete' } })
    expect(await state()).toEqual(before)
  })
})

test.each([
  ['a delete', 'DELETE', undefined, 204],
  ['an update', 'PATCH', { body: 'new' }, 200],
])(
  'discarded changes › %s that a policy forbids finds no record, whatever the triggers',
  async (_what, method, body, status) => {
    await app.sql("truncate own; insert into own values (1, 'one', 0), (20, 'seen', 0)")
    const token = userToken({ sub: alice })
    const change = (id: number) =>
      app.request(method, `/api/collections/own/${id}`, { token, ...(body === undefined ? {} : { body }) })
    expect((await change(1)).status).toBe(status)
    expect(envelope(await change(20))).toEqual(notFound)
    expect(await app.sql('select * from own where id = 20')).toEqual([{ id: 20, body: 'seen', changes: 0 }])
  },
)

test('discarded changes › under policies a change that a trigger discards finds no record, and is undone', async () => {
  await app.sql('alter table note enable row level security; create policy everything on note using (true)')
  const before = await state()
  const response = await app.request('DELETE', '/api/collections/note/1', {
    token: userToken({ sub: alice }),
  })
  expect(envelope(response)).toEqual(notFound)
  expect(await state()).toEqual(before)
})
