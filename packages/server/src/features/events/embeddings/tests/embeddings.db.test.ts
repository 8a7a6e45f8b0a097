import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { inviteAdministrator } from '../../../../../test/administrators.ts'
import {
  countLetters,
  type EmbeddingProvider,
  embeddings,
  startEmbeddingProvider,
  status,
} from '../../../../../test/embedding-provider.ts'
import { alice } from '../../../../../test/fixtures.ts'
import { createTestApp, envelope, type TestApp, userToken } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import { sql } from '../../../../database/sql.ts'

let provider: EmbeddingProvider
let app: TestApp
/** Second node on the same database. */
let other: TestApp
let admin: string
const token = userToken({ sub: alice })

const note = { table: 'note', columns: ['title', 'body'], vector_column: 'embedding' }
const configured = {
  note,
  doc: {
    table: 'doc',
    columns: ['text'],
    vector_column: 'vector',
    template: 'doc {text}!',
    model: 'openai:large',
  },
  lost: { table: 'lost', columns: ['text'], vector_column: 'vector' },
  wrong: { table: 'misfit', columns: ['title'], vector_column: 'title' },
  elsewhere: { table: 'misfit', columns: ['title'], vector_column: 'vector', template: '{nope}' },
}

function configOf(settings: object): Record<string, string> {
  return {
    'ai.providers': JSON.stringify({ openai: { base_url: provider.url, default_model: 'letters' } }),
    'ai.max_retries': '0',
    'ai.breaker.failure_threshold': '1000',
    embeddings: JSON.stringify(settings),
  }
}

beforeAll(async () => {
  provider = await startEmbeddingProvider()
  app = await createTestApp({
    config: configOf(configured),
    // Without pgvector, a table can hold vectors as JSON.
    setup: `
      create table note (id int primary key, title text, body text, stars int, embedding jsonb);
      alter table note enable row level security;
      create policy writers on note for all using (true) with check (embedding is null or stars is null);
      create table misfit (id int primary key, title text, vector jsonb);
      create table doc (part text, number int, text text, vector jsonb, primary key (part, number));`,
  })
  other = await createTestApp({ database: app.database, config: configOf(configured) })
  admin = await app.adminToken()
})
afterEach(async () => {
  provider.answer = embeddings(countLetters)
  await app.sql('truncate note, doc, basalt.embedding_queue')
  await settle()
  provider.requests.length = 0
})
afterAll(async () => {
  await other[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
  await provider[Symbol.asyncDispose]()
})

function write(method: string, path: string, body?: unknown, node = app) {
  return node.request(method, `/api/collections/${path}`, { token, ...(body === undefined ? {} : { body }) })
}

function request(method: string, path = '', body?: unknown) {
  const options = { token: admin, ...(body === undefined ? {} : { body }) }
  return app.request(method, `/api/admin/embeddings${path}`, options)
}

async function vectorOf(id: number) {
  const [row] = await app.sql<{ embedding: unknown }>('select embedding from note where id = $1', [id])
  return row?.embedding
}

async function waitForVector(id: number, vector: unknown) {
  await waitFor(`the vector of note ${id}`, async () => {
    return JSON.stringify(await vectorOf(id)) === JSON.stringify(vector)
  })
}

/** Waits until the log is read, no row is queued and no job is left. */
async function settle() {
  await waitFor('all rows to be embedded', async () => {
    // Ends the pauses after failures.
    await app.sql("update basalt.jobs set run_at = now() where state = 'queued' and type like 'embedding%'")
    const [row] = await app.sql<{ is_settled: boolean }>(`
      select not exists (select from basalt.embedding_queue where error is null)
        and not exists (
          select from basalt.jobs where type like 'embedding%' and state in ('queued', 'running')
        )
        and not exists (
          select from basalt.outbox o, basalt.event_cursors c
          where c.consumer = 'embeddings' and not pg_visible_in_snapshot(o.transaction_id, c.passed)
        ) as is_settled`)
    return row?.is_settled
  })
}

async function find(name: string) {
  return (await request('GET', `/${name}`)).json
}

describe('automatic embeddings', () => {
  test('updates the vector when the text of a record changes', async () => {
    const created = await write('POST', 'note', { id: 1, title: 'aa', body: 'b' })
    expect(created.status, created.text).toBe(201)
    await waitForVector(1, [2, 1, 0])
    expect(provider.texts).toEqual(['aa\nb'])
    expect(provider.requests[0]?.body.model).toBe('letters')
    await write('PATCH', 'note/1', { body: 'ccc' })
    await waitForVector(1, [2, 0, 3])
    await write('PATCH', 'note/1', { title: null })
    await waitForVector(1, [0, 0, 3])
    await write('PATCH', 'note/1', { body: ' ' })
    await waitForVector(1, null)
    await settle()
    expect(provider.texts).toEqual(['aa\nb', 'aa\nccc', 'ccc'])
  })

  test('ignores changes of other columns and of the vector itself', async () => {
    await write('POST', 'note', { id: 1, title: 'a' })
    await waitForVector(1, [1, 0, 0])
    await write('PATCH', 'note/1', { title: 'a', embedding: null })
    await write('PATCH', 'note/1', { stars: 5 })
    await settle()
    expect(await vectorOf(1)).toBeNull()
    expect(provider.texts).toEqual(['a'])
  })

  test('fills the template, for a record with two keys, and uses the named model', async () => {
    await write('POST', 'doc', { part: 'x,"y"', number: 2, text: 'ab' })
    await waitFor('the vector', async () => {
      const [row] = await app.sql('select vector from doc')
      return row?.vector?.join() === '1,1,1'
    })
    expect(provider.texts).toEqual(['doc ab!'])
    expect(provider.requests[0]?.body.model).toBe('large')
    await write('POST', 'doc', { part: 'x', number: 3, text: '' })
    await settle()
    expect(provider.texts).toEqual(['doc ab!'])
  })

  test('embeds many records in few requests, on whichever node they were written', async () => {
    await Promise.all(
      Array.from({ length: 10 }, (_, batch) => {
        const operations = Array.from({ length: 20 }, (_each, index) => {
          return { method: 'create', body: { id: batch * 20 + index, title: `a${batch * 20 + index}` } }
        })
        return write('POST', 'note/batch', { operations }, batch % 2 === 0 ? app : other)
      }),
    )
    await waitFor('all vectors', async () => {
      const [row] = await app.sql('select count(embedding)::int as count from note')
      return row?.count === 200
    })
    await settle()
    expect(provider.texts).toHaveLength(200)
    expect(new Set(provider.texts).size).toBe(200)
    expect(provider.requests.length).toBeLessThan(100)
  })

  test('follows writes of plain SQL, without a loop', async () => {
    await app.sql("insert into note (id, title) values (1, 'a')")
    await waitForVector(1, [1, 0, 0])
    await app.sql("update note set title = 'b'")
    await waitForVector(1, [0, 1, 0])
    await settle()
    expect(provider.texts).toEqual(['a', 'b'])
  })

  test('embeds the newest text, and skips rows that were deleted meanwhile', async () => {
    const requested = Promise.withResolvers<void>()
    const go = Promise.withResolvers<void>()
    provider.answer = (response, request) => {
      requested.resolve()
      void go.promise.then(() => embeddings(countLetters)(response, request))
    }
    await write('POST', 'note/batch', {
      operations: [1, 2, 3].map((id) => ({ method: 'create', body: { id, title: 'a' } })),
    })
    await requested.promise
    await write('DELETE', 'note/1')
    await write('PATCH', 'note/2', { title: 'bb' })
    go.resolve()
    await waitForVector(2, [0, 2, 0])
    await waitForVector(3, [1, 0, 0])
    await settle()
    expect((await find('note')).failed).toBe(0)
  })

  test('embeds later changes while a slow request is in flight', async () => {
    const go = Promise.withResolvers<void>()
    provider.answer = (response, request) => {
      const answer = () => embeddings(countLetters)(response, request)
      if (request.body.input.includes('slow a')) void go.promise.then(answer)
      else answer()
    }
    await write('POST', 'note', { id: 1, title: 'slow a' })
    await waitFor('the slow request', () => provider.texts.includes('slow a'))
    await write('POST', 'note', { id: 2, title: 'b' })
    await waitFor('a job for the case that the node of the slow request dies', async () => {
      const [row] = await app.sql(`
        select from basalt.jobs where type = 'embedding_update' and state = 'queued' and run_at > now()`)
      return row !== undefined
    })
    for (const id of [3, 4, 5]) {
      await write('POST', 'note', { id, title: 'c'.repeat(id) })
      await waitForVector(id, [0, 0, id])
    }
    const [later] = await app.sql(`
      select count(*)::int from basalt.jobs where type = 'embedding_update' and state = 'queued' and run_at > now()`)
    expect(later).toEqual({ count: 1 })
    go.resolve()
    await waitForVector(1, [1, 0, 0])
  })

  test('fails a text that the provider rejects alone, until it changes', async () => {
    provider.answer = (response, request) => {
      const isBad = request.body.input.some((text) => text.includes('bad'))
      const answer = isBad ? status(400, {}, '{"error": "sk-secret"}') : embeddings(countLetters)
      answer(response, request)
    }
    await write('POST', 'note/batch', {
      operations: ['a', 'bad', 'b', 'c'].map((title, id) => ({ method: 'create', body: { id, title } })),
    })
    await waitForVector(3, [0, 0, 1])
    await settle()
    expect(await vectorOf(0)).toEqual([1, 0, 0])
    expect(await vectorOf(1)).toBeNull()
    expect(await find('note')).toMatchObject({
      pending: 0,
      failed: 1,
      failures: [{ recordKey: [1], error: 'embedding provider error: status 400' }],
    })
    await app.sql("update basalt.embeddings set last_error = 'row 1' where name = 'note'")
    const viewer = await inviteAdministrator(app, 'viewer')
    const asViewer = async (path: string) =>
      (await app.request('GET', `/api/admin/embeddings${path}`, { token: viewer })).json
    expect(await asViewer('/note')).toMatchObject({
      failed: 1,
      lastError: null,
      failures: [{ recordKey: [], error: '' }],
    })
    expect(JSON.stringify(await asViewer(''))).not.toContain('row 1')
    expect(await find('note')).toMatchObject({ lastError: 'row 1' })
    await write('PATCH', 'note/1', { title: 'ccc' })
    await waitForVector(1, [0, 0, 3])
    await settle()
    expect(await find('note')).toMatchObject({ pending: 0, failed: 0, failures: [] })
  })

  test('retries while the provider is unavailable or rejects every text', async () => {
    for (const code of [503, 401, 400]) {
      provider.answer = status(code)
      const seen = provider.requests.length
      await write('POST', 'note/batch', {
        operations: ['a', 'b'].map((title, index) => ({
          method: 'create',
          body: { id: code * 10 + index, title },
        })),
      })
      await waitFor('an attempt that failed', async () => {
        await app.sql("update basalt.jobs set run_at = now() where state = 'queued'")
        return provider.requests.length > seen + 3
      })
      const { pending, failed, lastError } = await find('note')
      expect({ pending, failed }).toEqual({ pending: 2, failed: 0 })
      expect(lastError).toMatch(/^embedding provider (error: status (503|400)|authentication failed)$/)
      provider.answer = embeddings(countLetters)
      await settle()
      expect(await vectorOf(code * 10 + 1)).toEqual([0, 1, 0])
      expect((await find('note')).lastError).toBeNull()
    }
  })

  test('embeds rows that a dead node has claimed once its claim has expired', async () => {
    await app.sql(`
      set session_replication_role = replica; insert into note (id, title) values (1, 'a'); reset session_replication_role;
      insert into basalt.embedding_queue (embedding, record_hash, record_key, leased_until)
      values ('note', md5('[1]')::uuid, '[1]', now() + interval '1 hour')`)
    const [job] = await app.sql<{ id: string }>(`
      insert into basalt.jobs (type, payload, max_attempts) values ('embedding_update', '{"embedding": "note"}', 3)
      returning id`)
    // The job finds no free row and adds a job for the time when the claim expires.
    await waitFor('the job to end', async () => {
      const [row] = await app.sql('select state from basalt.jobs where id = $1', [job?.id])
      return row?.state === 'completed'
    })
    const [next] = await app.sql(
      "select run_at > now() + interval '59 min' as is_later from basalt.jobs where type = 'embedding_update' and state = 'queued'",
    )
    expect(next).toEqual({ is_later: true })
    await app.sql('update basalt.embedding_queue set leased_until = now()')
    await settle()
    expect(await vectorOf(1)).toEqual([1, 0, 0])
  })
})

describe('/api/admin/embeddings', () => {
  test('lists the configured embeddings with their problems', async () => {
    await write('POST', 'note', { id: 1, title: 'a' })
    await waitForVector(1, [1, 0, 0])
    await settle()
    const { status: code, json } = await request('GET')
    expect(code).toBe(200)
    expect(json.count).toBe(5)
    const byName = Object.fromEntries(json.items.map((item: { name: string }) => [item.name, item]))
    expect(byName.note).toEqual({
      name: 'note',
      table: 'note',
      columns: ['title', 'body'],
      vectorColumn: 'embedding',
      model: 'openai:letters',
      provider: { name: 'openai', breaker: 'closed', retryInSeconds: 0 },
      problem: null,
      isOutdated: expect.any(Boolean),
      pending: 0,
      failed: 0,
      written: expect.any(Number),
      lastWrittenAt: expect.stringMatching(/Z$/),
      lastError: null,
      backfill: null,
    })
    expect(byName.doc.model).toBe('openai:large')
    expect(byName.lost.problem).toBe('table "lost" not found')
    expect(byName.wrong.problem).toBe('column "title" is not a vector column (type: text)')
    expect(byName.elsewhere.problem).toBe('template: "{nope}" is not one of the columns')
  })

  test('POST :name/backfill queues existing rows without a vector', async () => {
    // These rows are written before anything listens.
    await app.sql(`
      set session_replication_role = replica;
      insert into note (id, title, embedding)
      select n, case when n % 10 <> 0 then 'a' || n end, case when n % 2 = 0 then '[9,9,9]'::jsonb end
      from generate_series(1, 300) n;
      reset session_replication_role`)
    const started = await request('POST', '/note/backfill')
    expect(started.status, started.text).toBe(202)
    expect(started.json).toMatchObject({ name: 'note', backfill: { jobId: expect.any(String) } })
    await waitFor('the rows to be queued', async () => (await find('note')).backfill.state === 'completed')
    await settle()
    expect(await find('note')).toMatchObject({
      isOutdated: false,
      pending: 0,
      backfill: {
        state: 'completed',
        rows: 180,
        startedAt: expect.stringMatching(/Z$/),
        finishedAt: expect.stringMatching(/Z$/),
      },
    })
    expect(provider.texts).toHaveLength(150)
    // A row with a text gets a vector, a row without a text loses its vector, and an existing vector stays.
    expect([await vectorOf(1), await vectorOf(2), await vectorOf(10)]).toEqual([[1, 0, 0], [9, 9, 9], null])
    expect(
      await app.sql("select target, detail from basalt.audit where action = 'embeddings.backfill'"),
    ).toEqual([{ target: 'note', detail: { all: false, job: started.json.backfill.jobId } }])

    await request('POST', '/note/backfill', { all: true })
    await waitForVector(2, [1, 0, 0])
    await settle()
    expect((await find('note')).backfill.rows).toBe(300)
  })

  test('POST :name/backfill queues all rows when another recipe embedded them', async () => {
    await request('POST', '/doc/backfill')
    await settle()
    await app.sql(`insert into doc values ('a', 1, 'b', '[9,9,9]')`)
    await app.sql(`update basalt.embeddings set filled_recipe = 'another' where name = 'doc'`)
    expect((await find('doc')).isOutdated).toBe(true)
    await request('POST', '/doc/backfill')
    await waitFor('the rows to be queued', async () => (await find('doc')).isOutdated === false)
    await settle()
    expect(await app.sql('select vector from doc')).toEqual([{ vector: [0, 1, 1] }])
  })

  test('POST :name/backfill runs once when ten are requested at once', async () => {
    await app.app.database.system.transaction(async (transaction) => {
      // The job that reads the table waits for this lock.
      await transaction.count(sql`lock table note in access exclusive mode`)
      const responses = await Promise.all(
        Array.from({ length: 10 }, (_, index) =>
          (index % 2 === 0 ? app : other).request('POST', '/api/admin/embeddings/note/backfill', {
            token: admin,
          }),
        ),
      )
      expect(responses.map((response) => response.status).toSorted()).toEqual([202, ...Array(9).fill(409)])
      expect(envelope(await request('POST', '/note/backfill'))).toEqual({
        code: 409,
        error: 'backfill_in_progress',
        message: 'a backfill is already in progress',
      })
    })
    await waitFor('the backfill to end', async () => (await find('note')).backfill.state === 'completed')
    expect((await request('POST', '/note/backfill')).status).toBe(202)
  })

  test.each([
    ['GET', '/nope'],
    ['POST', '/nope/backfill'],
    ['POST', '/constructor/backfill'],
  ])('%s %s returns 404 for an unknown embedding', async (method, path) => {
    const response = await request(method, path)
    expect(envelope(response)).toMatchObject({ code: 404, error: 'embedding_not_found' })
  })

  test.each([{ all: 'yes' }, [], 'x', { all: 1 }])(
    'POST :name/backfill rejects the body %j',
    async (body) => {
      expect((await request('POST', '/note/backfill', body)).status).toBe(400)
    },
  )

  test('POST /api/admin/jobs rejects unknown names of embeddings', async () => {
    for (const type of ['embedding_update', 'embedding_backfill']) {
      const body = { type, payload: { embedding: 'nope' } }
      const response = await app.request('POST', '/api/admin/jobs', { token: admin, body })
      expect([response.status, response.json.message]).toEqual([
        400,
        expect.stringContaining('embedding must be a name of the configuration'),
      ])
    }
  })

  test('returns 401 for users', async () => {
    for (const [method, path] of [
      ['GET', ''],
      ['GET', '/note'],
      ['POST', '/note/backfill'],
    ] as const) {
      expect((await app.request(method, `/api/admin/embeddings${path}`, { token })).status).toBe(401)
    }
  })

  test('returns 503 without jobs, and start removes embeddings that are no longer configured', async () => {
    await using idle = await createTestApp({ config: { 'jobs.enabled': 'false', ...configOf({ note }) } })
    const response = await idle.request('GET', '/api/admin/embeddings', { token: await idle.adminToken() })
    expect([response.status, response.json.message]).toEqual([503, 'job queue is not enabled'])
    expect(await idle.sql('select name from basalt.embeddings')).toEqual([{ name: 'note' }])
    await using plain = await createTestApp({ database: idle.database })
    expect(await plain.sql('select name from basalt.embeddings')).toEqual([])
    expect(await plain.sql("select from basalt.event_cursors where consumer = 'embeddings'")).toEqual([])
  })
})
