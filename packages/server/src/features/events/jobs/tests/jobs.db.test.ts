import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { jobType, openTestQueue } from '../../../../../test/job-queues.ts'
import {
  createTestApp,
  createTestDatabase,
  envelope,
  type TestApp,
  type TestDatabase,
  type TestResponse,
  userToken,
} from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import type { JobQueue } from '../../../../job-queue.ts'

let database: TestDatabase
let app: TestApp
let second: TestApp
let idle: JobQueue & AsyncDisposable

/** Job type that no node works on. */
const idleType = 'test.idle'
const unknownId = '00000000-0000-4000-8000-000000000000'
const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/)

beforeAll(async () => {
  database = await createTestDatabase()
  app = await createTestApp({ database })
  second = await createTestApp({ database })
  idle = await openTestQueue(app, [jobType(idleType, async () => undefined)], { isWorking: false })
})
afterAll(async () => {
  await idle[Symbol.asyncDispose]()
  await second[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

async function request(method: string, path: string, body?: unknown, node = app): Promise<TestResponse> {
  return await node.request(method, `/api/admin/jobs${path}`, { token: await node.adminToken(), body })
}

async function setState(id: string, state: string): Promise<void> {
  await app.sql(
    `update basalt.jobs set state = $2, started_at = now(), attempts = 3,
       leased_until = case when $2 = 'running' then now() + interval '1 h' end,
       finished_at = case when $2 in ('completed', 'canceled', 'failed') then now() end,
       last_error = case when $2 = 'failed' then 'it broke' end
     where id = $1`,
    [id, state === 'retried' ? 'queued' : state],
  )
}

/** Adds a job in a state. `retried` means queued after failed attempts. */
async function addJob(state = 'queued'): Promise<string> {
  const id = await idle.enqueue(idleType, { note: 'x' })
  if (state !== 'queued') await setState(id, state)
  return id
}

async function readAudit(): Promise<object[]> {
  return await app.sql(`
    with deleted as (delete from basalt.audit where action like 'jobs.%' returning *)
    select actor, action, target, detail, address from deleted order by id`)
}

describe('POST /api/admin/jobs', () => {
  test('adds a job, which a worker completes', async () => {
    await readAudit()
    const { status, json } = await request('POST', '', {
      type: 'job_retention',
      payload: { retention_days: 30 },
    })
    expect(status).toBe(201)
    expect(json).toEqual({
      id: uuid,
      type: 'job_retention',
      payload: { retention_days: 30 },
      state: 'queued',
      attempts: 0,
      maxAttempts: 3,
      lastError: '',
      runAt: timestamp,
      createdAt: timestamp,
      updatedAt: timestamp,
    })
    const done = await waitFor('the job to complete', async () => {
      const { json: job } = await request('GET', `/${json.id}`)
      return job.state === 'completed' && job
    })
    expect(done).toEqual({
      ...json,
      state: 'completed',
      attempts: 1,
      updatedAt: timestamp,
      lastRunAt: timestamp,
      completedAt: timestamp,
    })
    expect(await readAudit()).toEqual([
      {
        actor: 'admin',
        action: 'jobs.enqueue',
        target: json.id,
        detail: { type: 'job_retention' },
        address: '127.0.0.1',
      },
    ])
  })

  test('accepts a time and a number of attempts', async () => {
    const body = { type: 'job_retention', runAt: '9999-01-02T03:04:05+01:00', maxAttempts: 7 }
    const { status, json } = await request('POST', '', body)
    expect(status).toBe(201)
    expect(json).toMatchObject({
      payload: {},
      state: 'queued',
      maxAttempts: 7,
      runAt: '9999-01-02T02:04:05.000Z',
    })
    expect((await request('POST', `/${json.id}/cancel`)).status).toBe(200)
  })

  test.each<[object, string, string]>([
    [{}, 'type is required', 'missing_job_field'],
    [{ type: '' }, 'type is required', 'missing_job_field'],
    [{ type: 'nothing' }, 'unknown job type "nothing"', 'unknown_job_type'],
    [{ type: 'constructor' }, 'unknown job type "constructor"', 'unknown_job_type'],
    [{ type: idleType }, `unknown job type "${idleType}"`, 'unknown_job_type'],
    [{ type: 5 }, 'type: must be string', 'invalid_request'],
    [{ type: 'job_retention', payload: [] }, 'payload: must be object', 'invalid_request'],
    [{ type: 'job_retention', maxAttempts: 0 }, 'maxAttempts: must be >= 1', 'invalid_request'],
    [{ type: 'job_retention', maxAttempts: 101 }, 'maxAttempts: must be <= 100', 'invalid_request'],
    [{ type: 'job_retention', maxAttempts: 1.5 }, 'maxAttempts: must be integer', 'invalid_request'],
    [
      { type: 'webhook_delivery_prune', payload: { retention_hours: '168' } },
      'invalid payload: retention_hours must be an integer from 1 to 876000',
      'invalid_job_payload',
    ],
    [
      { type: 'job_retention', payload: { retention_days: 0 } },
      'invalid payload: retention_days must be an integer from 1 to 36500',
      'invalid_job_payload',
    ],
    [
      { type: 'materialized_view_refresh', payload: { view_name: 'a"b' } },
      'invalid payload: view_name must be the name of a materialized view',
      'invalid_job_payload',
    ],
    ...[
      'tomorrow',
      '2026-01-02',
      '2026-01-02T03:04:05',
      '2026-13-02T03:04:05Z',
      '9999-12-31T23:59:59-01:00',
    ].map((runAt): [object, string, string] => [
      { type: 'job_retention', runAt },
      'invalid runAt; expected RFC 3339, such as 2026-01-02T03:04:05Z',
      'invalid_run_at',
    ]),
  ])('rejects %j', async (body, message, error) => {
    const response = await request('POST', '', body)
    expect(response.status).toBe(400)
    expect(envelope(response)).toEqual({ code: 400, message, error })
  })

  test.each(['{"a": "\\u0000"}', '{"a": "\\ud800"}', '{"\\u0000": 1}', '{"a": [{"b": {"\\udc00": null}}]}'])(
    'rejects the payload %s, which jsonb cannot hold',
    async (payload) => {
      const response = await request('POST', '', `{"type": "job_retention", "payload": ${payload}}`)
      expect(envelope(response)).toEqual({
        code: 400,
        message: 'invalid payload: texts must be well-formed Unicode without NUL',
        error: 'invalid_job_payload',
      })
    },
  )
})

describe('GET /api/admin/jobs', () => {
  test('lists the newest jobs first, filtered by state and type, page by page', async () => {
    const ids: Record<string, string> = {}
    for (const state of ['queued', 'retried', 'running', 'completed', 'canceled', 'failed']) {
      ids[state] = await addJob(state)
    }
    const list = async (query: string) => {
      const { status, json } = await request('GET', `?type=${idleType}${query}`)
      expect(status).toBe(200)
      expect(json.count).toBe(json.items.length)
      return json.items.map(({ id }: { id: string }) => id)
    }
    const { queued, retried, running, completed, canceled, failed } = ids
    expect(await list('')).toEqual([failed, canceled, completed, running, retried, queued])
    expect(await list('&state=queued')).toEqual([retried, queued])
    expect(await list('&state=running')).toEqual([running])
    expect(await list('&state=completed')).toEqual([completed])
    expect(await list('&state=canceled')).toEqual([canceled])
    expect(await list('&state=failed')).toEqual([failed])
    expect(await list('&limit=2&offset=1')).toEqual([canceled, completed])
    const [{ at } = { at: '' }] = await app.sql<{ at: string }>(
      `update basalt.jobs set created_at = '2026-01-31T10:00:00Z' where id = $1 returning created_at::text as at`,
      [queued],
    )
    expect(at).toContain('2026-01-31')
    expect(await list('&from=2026-01-01&to=2026-01-31')).toEqual([queued])
    expect(await list('&state=failed&to=2026-01-31')).toEqual([])
    expect(await list('&from=2026-02-01')).toEqual([failed, canceled, completed, running, retried])
    expect(await list('&limit=100000')).toHaveLength(6)
    expect(await list('&offset=6')).toEqual([])
    expect((await request('GET', `?type=no'such`)).json).toEqual({ items: [], count: 0 })

    const before = (await request('GET', '/stats')).json
    expect(Object.keys(before).sort()).toEqual([
      'canceled',
      'completed',
      'failed',
      'oldestQueuedAgeSec',
      'queued',
      'running',
    ])
    await app.sql("update basalt.jobs set run_at = now() - interval '90 s' where id = $1", [queued])
    await app.sql('delete from basalt.jobs where id = any($1)', [[running, failed]])
    const after = (await request('GET', '/stats')).json
    expect(after).toEqual({
      ...before,
      running: before.running - 1,
      failed: before.failed - 1,
      oldestQueuedAgeSec: expect.any(Number),
    })
    expect(Math.round(after.oldestQueuedAgeSec / 10)).toBe(9)
    await app.sql('delete from basalt.jobs where type = $1', [idleType])
    const none = (await request('GET', '/stats')).json
    expect([none.queued, none.oldestQueuedAgeSec]).toEqual([0, 0])
  })

  test('lists 50 jobs by default and at most 500', async () => {
    await app.sql(
      `insert into basalt.jobs (type, state, max_attempts, finished_at)
       select $1, 'completed', 1, now() from generate_series(1, 510)`,
      [idleType],
    )
    expect((await request('GET', `?type=${idleType}`)).json.count).toBe(50)
    expect((await request('GET', `?type=${idleType}&limit=501`)).json.count).toBe(500)
    await app.sql('delete from basalt.jobs where type = $1', [idleType])
  })

  test.each([
    ['state=done', 'invalid state filter; must be one of: queued, running, completed, failed, canceled'],
    ['state=active', 'invalid state filter; must be one of: queued, running, completed, failed, canceled'],
    ['state=', 'invalid state filter; must be one of: queued, running, completed, failed, canceled'],
    ['from=never', 'invalid from filter; expected RFC3339 or YYYY-MM-DD'],
    ['from=2026-02-01&to=2026-01-01', 'to filter must be greater than or equal to from filter'],
    ['limit=0', 'invalid limit'],
    ['limit=-1', 'invalid limit'],
    ['limit=x', 'invalid limit'],
    ['limit=', 'invalid limit'],
    ['limit=1e3', 'invalid limit'],
    ['offset=-1', 'invalid offset'],
    ['offset=1.5', 'invalid offset'],
    ['offset=99999999999999999999', 'invalid offset'],
  ])('rejects %s', async (query, message) => {
    const response = await request('GET', `?${query}`)
    expect([response.status, response.json.message]).toEqual([400, message])
  })
})

describe('POST /api/admin/jobs/:id/retry', () => {
  test('queues a failed job at once with all its attempts', async () => {
    const id = await addJob('failed')
    const failed = (await request('GET', `/${id}`)).json
    expect(failed).toMatchObject({ state: 'failed', attempts: 3, maxAttempts: 3, lastError: 'it broke' })
    await readAudit()
    const { status, json } = await request('POST', `/${id}/retry`)
    expect(status).toBe(200)
    const { completedAt, ...rest } = failed
    expect(completedAt).toEqual(timestamp)
    expect(json).toEqual({
      ...rest,
      state: 'queued',
      attempts: 0,
      lastError: '',
      runAt: timestamp,
      updatedAt: timestamp,
    })
    expect(Date.parse(json.updatedAt)).toBeGreaterThan(Date.parse(failed.updatedAt))
    expect(await readAudit()).toEqual([
      {
        actor: 'admin',
        action: 'jobs.retry',
        target: id,
        detail: { type: idleType },
        address: '127.0.0.1',
      },
    ])
  })

  test('queues the job once when ten requests on two nodes arrive at once', async () => {
    const id = await addJob('failed')
    await readAudit()
    const responses = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        request('POST', `/${id}/retry`, undefined, index % 2 === 0 ? app : second),
      ),
    )
    expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(409)])
    expect(await readAudit()).toHaveLength(1)
  })

  test.each(['queued', 'running', 'completed', 'canceled'])('returns 409 in the state %s', async (state) => {
    const id = await addJob(state)
    const before = await app.sql('select j::text from basalt.jobs j where id = $1', [id])
    const response = await request('POST', `/${id}/retry`)
    expect(response.status).toBe(409)
    expect(envelope(response)).toEqual({
      code: 409,
      message: `job ${id} not found or not in failed state`,
      error: 'job_not_failed',
    })
    expect(await app.sql('select j::text from basalt.jobs j where id = $1', [id])).toEqual(before)
  })
})

describe('POST /api/admin/jobs/:id/cancel', () => {
  test.each(['queued', 'retried'])('cancels a job in the state %s', async (state) => {
    const id = await addJob(state)
    await readAudit()
    const { status, json } = await request('POST', `/${id}/cancel`)
    expect([status, json]).toEqual([
      200,
      expect.objectContaining({ id, state: 'canceled', canceledAt: timestamp }),
    ])
    expect(json).not.toHaveProperty('completedAt')
    expect(await readAudit()).toEqual([expect.objectContaining({ action: 'jobs.cancel', target: id })])
  })

  test('cancels the job once when ten requests on two nodes arrive at once', async () => {
    const id = await addJob()
    const responses = await Promise.all(
      Array.from({ length: 10 }, (_, index) =>
        request('POST', `/${id}/cancel`, undefined, index % 2 === 0 ? app : second),
      ),
    )
    expect(responses.map(({ status }) => status).sort()).toEqual([200, ...Array(9).fill(409)])
  })

  test.each(['running', 'completed', 'canceled', 'failed'])('returns 409 in the state %s', async (state) => {
    const id = await addJob(state)
    const response = await request('POST', `/${id}/cancel`)
    expect(response.status).toBe(409)
    expect(envelope(response)).toEqual({
      code: 409,
      message: `job ${id} not found or not in queued state`,
      error: 'job_not_queued',
    })
  })
})

const routes = [
  ['GET', ''],
  ['POST', ''],
  ['GET', '/stats'],
  ['GET', `/${unknownId}`],
  ['GET', `/${unknownId}/runs`],
  ['POST', `/${unknownId}/retry`],
  ['POST', `/${unknownId}/cancel`],
] as const

describe('/api/admin/jobs', () => {
  test.each(routes.slice(3))('%s %s returns 404 for an unknown job', async (method, path) => {
    const response = await request(method, path)
    expect(response.status).toBe(404)
    expect(envelope(response)).toEqual({ code: 404, message: 'job not found', error: 'job_not_found' })
  })

  test.each(routes.slice(3))('%s %s returns 400 for a malformed id', async (method, path) => {
    const response = await request(method, path.replace(unknownId, 'x'))
    expect(response.status).toBe(400)
    expect(envelope(response)).toEqual({
      code: 400,
      message: 'invalid job id format',
      error: 'invalid_job_id',
    })
  })

  test.each(routes)('%s %s returns 401 without an administrator’s token', async (method, path) => {
    for (const token of [undefined, userToken({ sub: unknownId }), 'basalt_admin_wrong']) {
      const response = await app.request(method, `/api/admin/jobs${path}`, { token })
      expect(response.status).toBe(401)
    }
  })

  test('returns 503 on every route while jobs are disabled', async () => {
    await using disabled = await createTestApp({ database, config: { 'jobs.enabled': 'false' } })
    const schedules = [
      ['GET', ''],
      ['POST', ''],
      ['PUT', `/${unknownId}`],
      ['DELETE', `/${unknownId}`],
      ['POST', `/${unknownId}/enable`],
      ['POST', `/${unknownId}/disable`],
    ] as const
    const all = [
      ...routes.map(([method, path]) => [method, `/api/admin/jobs${path}`] as const),
      ...schedules.map(([method, path]) => [method, `/api/admin/schedules${path}`] as const),
    ]
    for (const [method, path] of all) {
      expect((await disabled.request(method, path)).status).toBe(401)
      const response = await disabled.request(method, path, { token: await disabled.adminToken() })
      expect(response.status).toBe(503)
      expect(envelope(response)).toEqual({
        code: 503,
        message: 'job queue is not enabled',
        error: 'jobs_disabled',
      })
    }
  })
})
