import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { alice, bob } from '../../../../../test/fixtures.ts'
import { createTestApp, type TestApp, type TestResponse, userToken } from '../../../../../test/test-app.ts'

/**
 * A batch means its operations one after the other, or nothing. The model sends the same operations as single
 * requests to a table of the same definition in another schema.
 */

let app: TestApp
const token = userToken({ sub: alice })

interface Subject {
  readonly what: string
  /** DDL of the table `subject` with the columns id, n, ref and note, and of its dependencies. */
  readonly ddl: string
  readonly rls?: boolean
}

const columns = 'id int primary key, n int, ref int, note text'

/** Tables on which one statement could differ from several, by name. */
const subjects: Readonly<Record<string, Subject>> = {
  plain: {
    what: 'defaults and generated columns',
    ddl: `create table plain (id int primary key, n int not null default 7, ref int, note text default 'none',
      twice int generated always as (n * 2) stored)`,
  },
  constrained: {
    what: 'unique keys and checks',
    ddl: 'create table constrained (id int primary key, n int unique check (n < 3), ref int, note text not null)',
  },
  postponed: {
    what: 'a unique key that is checked after the statement',
    ddl: 'create table postponed (id int primary key, n int unique deferrable, ref int, note text)',
  },
  excluding: {
    what: 'an exclusion constraint',
    ddl: `create table excluding (${columns}, exclude using gist (int4range(n, n + 1) with &&))`,
  },
  tree: {
    what: 'a key to itself',
    ddl: `create table tree (${columns}, foreign key (ref) references tree)`,
  },
  cascading: {
    what: 'a key to itself that cascades',
    ddl: `create table cascading (${columns}, foreign key (ref) references cascading on delete cascade)`,
  },
  counted: {
    what: 'triggers that read the table',
    ddl: `create table counted (${columns});
      create function note_count() returns trigger language plpgsql set search_path from current as $$
      begin
        insert into log (entry) values (format('%s %s %s', tg_when, tg_op, (select count(*) from counted)));
        return coalesce(new, old);
      end $$;
      create function number() returns trigger language plpgsql set search_path from current as $$
      begin new.n := (select count(*) from counted); return new; end $$;
      create trigger number before insert on counted for each row execute function number();
      create trigger after_row after insert or update or delete on counted for each row execute function note_count();
      create trigger after_statement after insert or delete on counted for each statement execute function note_count()`,
  },
  discarding: {
    what: 'triggers that discard',
    ddl: `create table discarding (${columns});
      create function discard() returns trigger language plpgsql set search_path from current as $$
      begin if new.n = 0 then return null; end if; return new; end $$;
      create trigger discard before insert or update on discarding for each row execute function discard()`,
  },
  quota: {
    what: 'a policy that counts rows',
    rls: true,
    ddl: `create table quota (${columns});
      create policy see on quota for select using (true);
      create policy change on quota for update using (true);
      create policy remove on quota for delete using (id < 6);
      create policy put on quota for insert with check ((select count(q.id) from quota q) < 4)`,
  },
  limited: {
    what: 'a policy that calls a function',
    rls: true,
    ddl: `create table limited (${columns});
      create function has_room() returns bool language sql stable security definer
        begin atomic select count(*) < 4 from limited; end;
      create policy all_of_it on limited using (true) with check (has_room())`,
  },
  owned: {
    what: 'a policy on owners',
    rls: true,
    ddl: `create table owned (${columns},
        owner_id uuid not null default nullif(current_setting('basalt.user_id', true), '')::uuid);
      create policy own on owned using (owner_id = nullif(current_setting('basalt.user_id', true), '')::uuid)
        with check (owner_id = nullif(current_setting('basalt.user_id', true), '')::uuid and n is distinct from 0)`,
  },
  ranked: {
    what: 'a default that reads the table',
    ddl: `create table ranked (${columns});
      create function next_rank() returns int language sql stable
        begin atomic select coalesce(max(n), 0) + 1 from ranked; end;
      alter table ranked alter n set default next_rank()`,
  },
  few: {
    what: 'a check that reads the table',
    ddl: `create table few (${columns});
      create function is_few() returns bool language sql stable begin atomic select count(*) < 4 from few; end;
      alter table few add check (is_few())`,
  },
  lively: {
    what: 'a policy, a default and a check that call volatile functions',
    rls: true,
    ddl: `create table lively (${columns});
      create function rows_so_far() returns int language sql security definer
        begin atomic select count(*) from lively; end;
      alter table lively alter n set default rows_so_far(), add check (rows_so_far() < 5);
      create policy all_of_it on lively using (true) with check (rows_so_far() < 4)`,
  },
  parted: {
    what: 'partitions, of which one has a trigger',
    ddl: `create table parted (${columns}) partition by range (id);
      create table parted_low partition of parted for values from (0) to (4);
      create table parted_high partition of parted for values from (4) to (6);
      create function count_high() returns trigger language plpgsql set search_path from current as $$
      begin insert into log (entry) values ((select count(*) from parted)); return null; end $$;
      create trigger count_high after insert on parted_high for each row execute function count_high()`,
  },
}

const names = Object.keys(subjects)

/** Returns the DDL of both schemas: batches run in `batched`, the model in `single`. */
function setup(schema: string): string {
  return [
    `create schema ${schema}; set search_path = ${schema}; create table log (id serial, entry text)`,
    ...Object.entries(subjects).flatMap(([name, { ddl, rls }]) =>
      rls === true ? [ddl, `alter table ${name} enable row level security`] : [ddl],
    ),
  ].join(';\n')
}

beforeAll(async () => {
  // The role already exists in the cluster, because the template was made with it.
  app = await createTestApp({
    setup: `${setup('batched')};\n${setup('single')}`,
    config: { 'database.schemas': 'batched,single' },
  })
})
afterAll(() => app[Symbol.asyncDispose]())

interface Operation {
  readonly method: 'create' | 'update' | 'delete'
  readonly id?: number | string
  readonly body?: Readonly<Record<string, unknown>>
}

/** Few ids and values, so that operations collide. */
const id = fc.integer({ min: 1, max: 6 })
const fields = fc.record(
  {
    n: fc.oneof(
      { weight: 9, arbitrary: fc.integer({ min: 0, max: 3 }) },
      { weight: 1, arbitrary: fc.constant('x') },
    ),
    ref: fc.option(id),
    note: fc.option(fc.constantFrom('a', 'b\'"\\ $1')),
  },
  { requiredKeys: [] },
)
const create = fc
  .tuple(id, fields)
  .map(([key, rest]): Operation => ({ method: 'create', body: { id: key, ...rest } }))
/** Records with the same columns, which are merged unless something forbids it. */
const alike = fc
  .record({
    keys: fc.shuffledSubarray([2, 4, 5, 6], { minLength: 2 }),
    n: fc.option(fc.integer({ min: 0, max: 3 }), { freq: 1, nil: undefined }),
    /** Index of the key that the records refer to. */
    ref: fc.option(fc.nat({ max: 3 }), { freq: 3, nil: undefined }),
  })
  .map(({ keys, n, ref }) =>
    keys.map(
      (key, index): Operation => ({
        method: 'create',
        body: {
          id: key,
          note: 'alike',
          ...(n === undefined ? {} : { n: n + index }),
          ...(ref === undefined ? {} : { ref: keys[ref] ?? null }),
        },
      }),
    ),
  )
const update = fc
  .tuple(id, fields, fc.option(id, { freq: 8, nil: undefined }))
  .filter(([, body]) => Object.keys(body).length > 0)
  .map(
    ([key, body, newKey]): Operation => ({
      method: 'update',
      id: key,
      body: newKey === undefined ? body : { ...body, id: newKey },
    }),
  )
const remove = fc
  .tuple(id, fc.boolean())
  .map(([key, asText]): Operation => ({ method: 'delete', id: asText ? `0${key}` : key }))
const operations = fc
  .array(
    fc.oneof(
      alike,
      fc.oneof(create, update, remove).map((operation) => [operation]),
    ),
    {
      minLength: 1,
      maxLength: 5,
    },
  )
  .map((parts) => parts.flat())

/** Rows at the start of every run; some are in the way of the operations. */
const start = `(1, 5, null, 'start'), (3, 0, 1, 'start')`

async function reset(name: string): Promise<void> {
  const owner =
    name === 'owned'
      ? `update batched.owned set owner_id = case id when 1 then '${alice}' else '${bob}' end::uuid;
    update single.owned set owner_id = case id when 1 then '${alice}' else '${bob}' end::uuid;`
      : ''
  const values = name === 'constrained' ? start.replace('5', '1') : start
  const fill = (schema: string) => `delete from ${schema}.log; delete from ${schema}.${name};
    insert into ${schema}.${name} (id, n, ref, note${name === 'owned' ? ', owner_id' : ''})
    select v.*${name === 'owned' ? `, '${alice}'` : ''} from (values ${values}) v;`
  await app.sql(
    `begin; set local session_replication_role = replica; ${fill('batched')} ${fill('single')} ${owner} commit`,
  )
}

async function stateOf(schema: string, name: string): Promise<unknown> {
  const [state] = await app.sql(`select
    (select json_agg(t order by id) from ${schema}.${name} t) as rows,
    (select json_agg(entry order by id) from ${schema}.log) as log`)
  return state
}

async function send(name: string, { method, id: key, body }: Operation): Promise<TestResponse> {
  const path = `/api/collections/single.${name}`
  switch (method) {
    case 'create':
      return app.request('POST', path, { token, body })
    case 'update':
      return app.request('PATCH', `${path}/${key}`, { token, body })
    case 'delete':
      return app.request('DELETE', `${path}/${key}`, { token })
  }
}

/** Returns the response that the batch must give, by the model. */
async function expectedOf(name: string, batch: readonly Operation[]) {
  const results: unknown[] = []
  for (const [index, operation] of batch.entries()) {
    const response = await send(name, operation)
    if (response.status >= 300) {
      const { message, doc_url: _, ...envelope } = response.json
      const named = envelope.error === 'record_not_found' ? `${message}: ${operation.id}` : message
      return { failure: { ...envelope, message: named, operation: { index, method: operation.method } } }
    }
    results.push({
      index,
      status: response.status,
      ...(response.status === 204 ? {} : { body: response.json }),
    })
  }
  return { results }
}

async function check(name: string, batch: readonly Operation[]): Promise<'done' | 'failed'> {
  await reset(name)
  const before = await stateOf('batched', name)
  const response = await app.request('POST', `/api/collections/batched.${name}/batch`, {
    token,
    body: { operations: batch },
  })
  const expected = await expectedOf(name, batch)
  const after = await stateOf('batched', name)
  if (expected.failure === undefined) {
    expect(response.json).toEqual(expected.results)
    expect(after).toEqual(await stateOf('single', name))
    return 'done'
  }
  const { doc_url: _, ...envelope } = response.json
  expect(envelope).toEqual(expected.failure)
  expect(after).toEqual(before)
  return 'failed'
}

describe('batches equal their operations one after the other, or nothing', () => {
  test.each(names.map((name) => [subjects[name]?.what, name]))(
    'on a table with %s',
    async (_what, name = '') => {
      const outcomes: string[] = []
      await fc.assert(
        fc.asyncProperty(operations, async (batch) => {
          outcomes.push(await check(name, batch))
        }),
        { numRuns: 60, seed: 20260102 },
      )
      // A generator whose batches all fail, or all succeed, would test little.
      expect(new Set(outcomes)).toEqual(new Set(['done', 'failed']))
    },
  )
})
