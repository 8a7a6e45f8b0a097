import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openTransaction } from '../../../../../test/account-nodes.ts'
import { alice } from '../../../../../test/fixtures.ts'
import { jobType, openTestQueue } from '../../../../../test/job-queues.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'

let app: TestApp
const token = userToken({ sub: alice })

const setup = `
create table photo (id int primary key, url text not null, check (url <> 'forbidden'));
alter table photo enable row level security;
create policy all_photos on photo using (true);
create materialized view photo_count as select count(*)::int as photos from photo;
create function count_photos() returns trigger language plpgsql as $$
begin
  perform basalt.enqueue('materialized_view_refresh', '{"view_name": "photo_count"}', key => 'photo_count');
  return new;
end $$;
create trigger count_photos before insert on photo for each row execute function count_photos();
create table secluded (id int primary key);
create function enqueue_other() returns trigger language plpgsql as $$
begin
  perform basalt.enqueue('accounts.send_mail', '{}');
  return new;
end $$;
create trigger enqueue_other before insert on secluded for each row execute function enqueue_other();
`
const signature = 'basalt.enqueue(text, jsonb, text, timestamptz)'
const idleType = jobType('test.idle', async () => undefined, {
  isOpenToSql: true,
  findProblem: ({ size }) => (size === undefined || size === 1 ? undefined : 'size must be 1'),
})

beforeAll(async () => {
  app = await createTestApp({ setup })
  await using _idle = await openTestQueue(app, [idleType], { isWorking: false })
})
afterAll(() => app[Symbol.asyncDispose]())

async function addPhoto(id: number, url = 'https://photos.example/1') {
  return await app.request('POST', '/api/collections/photo', { token, body: { id, url } })
}

/** Calls the function as the owner. Returns the error message, or the id of the job. */
async function enqueue(call: string): Promise<string> {
  return await app
    .sql<{ id: string }>(`select ${call} as id`)
    .then(([row]) => row?.id ?? '')
    .catch((error: Error) => error.message)
}

async function jobsOf(type: string): Promise<Record<string, unknown>[]> {
  return await app.sql(
    'select id, payload, state, key from basalt.jobs where type = $1 order by created_at',
    [type],
  )
}

describe('basalt.enqueue', () => {
  test('is refused to callers until the operator grants it', async () => {
    await app.sql(`revoke all on function ${signature} from basalt_authenticated`)
    const refused = await addPhoto(1)
    expect(envelope(refused)).toEqual({
      code: 500,
      error: 'database_definition_error',
      message: 'a definition of the database failed on "photo" (SQLSTATE 42501)',
      data: { relation: 'photo', sqlState: '42501' },
    })
    expect(await jobsOf('materialized_view_refresh')).toEqual([])
  })

  test('adds a job in the transaction of the caller, which a node runs', async () => {
    await app.sql(`grant execute on function ${signature} to basalt_authenticated`)
    expect((await addPhoto(2, 'forbidden')).status).toBe(400)
    expect(await jobsOf('materialized_view_refresh')).toEqual([])
    expect((await addPhoto(2)).status).toBe(201)
    await waitFor('the view to have the photo', async () => {
      const [row] = await app.sql('select photos from photo_count')
      return row?.photos === 1
    })
    await waitFor('the job to be completed', async () => {
      const jobs = await jobsOf('materialized_view_refresh')
      return jobs.length === 1 && jobs[0]?.state === 'completed' && jobs[0].key === null
    })
  })

  test('is executable by administrators of the data API', async () => {
    const response = await app.request('POST', '/api/collections/photo', {
      token: await app.adminToken(),
      body: { id: 3, url: 'https://photos.example/3' },
    })
    expect(response.status).toBe(201)
  })

  test('reports an unknown type to the caller as 400', async () => {
    const response = await app.request('POST', '/api/collections/secluded', { token, body: { id: 1 } })
    expect(envelope(response)).toEqual({
      code: 400,
      error: 'raised',
      message: 'basalt.enqueue: unknown job type "accounts.send_mail"',
      data: {
        hint: 'Types that SQL may add: cdn_purge, materialized_view_refresh, search_index_build, test.idle',
      },
    })
  })

  test.each([
    [`null`, 'unknown job type ""'],
    [`'nonsense'`, 'unknown job type "nonsense"'],
    [`'webhook_delivery_prune'`, 'unknown job type "webhook_delivery_prune"'],
    [`'test.idle', '[]'`, 'payload must be an object'],
    [`'test.idle', null`, 'payload must be an object'],
    [`'test.idle', jsonb_build_object('a', repeat('x', 65536))`, 'payload must have at most 65536 bytes'],
    [`'test.idle', key => ''`, 'key must have 1 to 200 characters'],
    [`'test.idle', key => repeat('k', 201)`, 'key must have 1 to 200 characters'],
    [`'test.idle', run_at => 'infinity'`, 'run_at must be finite'],
  ])('rejects %s', async (list, problem) => {
    expect(await enqueue(`basalt.enqueue(${list})`)).toBe(`basalt.enqueue: ${problem}`)
  })

  test('fails a job whose payload does not fit its type, without running it', async () => {
    await using _queue = await openTestQueue(app, [{ ...idleType, name: 'test.strict' }])
    const id = await enqueue(`basalt.enqueue('test.strict', '{"size": 2}')`)
    const admin = await app.adminToken()
    const failed = await waitFor('the job to fail', async () => {
      const { json } = await app.request('GET', `/api/admin/jobs/${id}`, { token: admin })
      return json.state === 'failed' && json
    })
    expect(failed).toMatchObject({ attempts: 1, lastError: 'invalid payload: size must be 1' })
  })

  test('ignores functions of the same name in the caller’s search path', async () => {
    await app.sql(`
      create schema hostile;
      create function hostile.now() returns timestamptz language plpgsql as $$ begin raise 'called'; end $$;
      create function hostile.jsonb_typeof(jsonb) returns text language plpgsql as $$ begin raise 'called'; end $$;
      create function hostile.length(text) returns int language plpgsql as $$ begin raise 'called'; end $$`)
    const call = `set search_path = hostile, pg_catalog; select basalt.enqueue('test.idle', key => 'safe')`
    await using transaction = await openTransaction(app.database)
    await transaction.sql(call)
    await transaction.commit()
    expect((await jobsOf('test.idle')).map(({ key }) => key)).toEqual(['safe'])
    await app.sql(`delete from basalt.jobs where type = 'test.idle'`)
  })

  test('keeps one waiting job of a key, with the latest payload and time, for ten callers at once', async () => {
    const ids = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        enqueue(`basalt.enqueue('test.idle', '{"n": ${index}}', 'one', now() + interval '1 day')`),
      ),
    )
    expect(new Set(ids).size).toBe(1)
    expect(await enqueue(`basalt.enqueue('test.idle', '{"n": 10}', 'one')`)).toBe(ids[0])
    const other = await enqueue(`basalt.enqueue('test.idle', '{"n": 11}', 'two')`)
    const admin = await app.adminToken()
    const { json } = await app.request('GET', '/api/admin/jobs?type=test.idle', { token: admin })
    expect(json.items.map(({ id, payload, key }: Record<string, unknown>) => [id, payload, key])).toEqual([
      [other, { n: 11 }, 'two'],
      [ids[0], { n: 10 }, 'one'],
    ])
    await app.sql(`delete from basalt.jobs where type = 'test.idle'`)
  })

  test('adds another job once a node has begun the first, and never loses a call', async () => {
    const started = Promise.withResolvers<void>()
    const mayEnd = Promise.withResolvers<void>()
    const seen: object[] = []
    const name = 'test.keyed'
    const type = jobType(
      name,
      async (payload) => {
        seen.push(payload)
        started.resolve()
        await mayEnd.promise
      },
      { isOpenToSql: true },
    )
    await using queue = await openTestQueue(app, [type])
    await using transaction = await openTransaction(app.database)
    const first = await enqueue(`basalt.enqueue('${name}', '{"n": 1}', 'k', now() + interval '1 hour')`)
    // The open transaction holds the waiting job, so that no node runs it before the commit.
    await transaction.sql(`select basalt.enqueue('${name}', '{"n": 2}', 'k')`)
    queue.wake()
    expect(await jobsOf(name)).toMatchObject([{ id: first, payload: { n: 1 }, state: 'queued', key: 'k' }])
    await transaction.commit()
    await started.promise
    expect(seen).toEqual([{ n: 2 }])
    const second = await enqueue(`basalt.enqueue('${name}', '{"n": 3}', 'k')`)
    expect(second).not.toBe(first)
    mayEnd.resolve()
    await waitFor('both jobs to be completed', async () =>
      (await jobsOf(name)).every(({ state }) => state === 'completed'),
    )
    expect(seen).toEqual([{ n: 2 }, { n: 3 }])
  })

  test('lets a job whose worker was lost return to the queue beside another one of its key', async () => {
    const name = 'test.lost'
    await using _idle = await openTestQueue(app, [{ ...idleType, name }], { isWorking: false })
    const first = await enqueue(`basalt.enqueue('${name}', key => 'k')`)
    await app.sql(
      `update basalt.jobs set state = 'running', key = null, attempts = 1, leased_until = now() - interval '1 s',
       started_at = now() where id = $1`,
      [first],
    )
    const second = await enqueue(`basalt.enqueue('${name}', key => 'k')`)
    await using _queue = await openTestQueue(app, [{ ...idleType, name }])
    await waitFor('both jobs to be completed', async () =>
      (await jobsOf(name)).every(({ state }) => state === 'completed'),
    )
    expect((await jobsOf(name)).map(({ id }) => id)).toEqual([first, second])
  })
})
