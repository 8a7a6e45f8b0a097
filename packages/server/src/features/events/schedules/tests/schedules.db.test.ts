import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openTransaction } from '../../../../../test/account-nodes.ts'
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
import type { Schedule } from '../schedule.ts'

let database: TestDatabase
let app: TestApp
let second: TestApp

const unknownId = '00000000-0000-4000-8000-000000000000'
const timestamp = expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/)
/** Yearly expression, so that no test meets it by chance. */
const yearly = '0 0 1 1 *'

beforeAll(async () => {
  database = await createTestDatabase()
  app = await createTestApp({ database })
  second = await createTestApp({ database })
})
afterAll(async () => {
  await second[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
  await database[Symbol.asyncDispose]()
})

async function request(method: string, path: string, body?: unknown, node = app): Promise<TestResponse> {
  const token = await node.adminToken()
  return await node.request(method, `/api/admin/schedules${path}`, { token, body })
}

let count = 0
async function create(more: object = {}): Promise<Schedule> {
  count += 1
  const body = { name: `schedule ${count}`, jobType: 'job_retention', cronExpr: yearly, ...more }
  const { status, json } = await request('POST', '', body)
  expect([status, json]).toEqual([201, expect.anything()])
  return json
}

async function readAudit(): Promise<object[]> {
  return await app.sql(`
    with taken as (delete from basalt.audit where action like 'schedules.%' returning *)
    select action, target, detail, address from taken order by id`)
}

/** Waits for jobs of a schedule and lists them. */
async function jobsOf(id: string): Promise<Record<string, unknown>[]> {
  return await waitFor('the schedule to run', async () => {
    const jobs = await app.sql(
      'select id, type, payload, max_attempts from basalt.jobs where schedule_id = $1',
      [id],
    )
    return jobs.length > 0 && jobs
  })
}

async function makeDue(ids: readonly string[], ago: string): Promise<void> {
  await app.sql('update basalt.schedules set next_run_at = now() - $2::interval where id::text = any($1)', [
    ids,
    ago,
  ])
}

describe('GET /api/admin/schedules', () => {
  test('lists the housekeeping schedules by name', async () => {
    const { status, json } = await request('GET', '')
    expect(status).toBe(200)
    expect(json.count).toBe(json.items.length)
    const brief = json.items.map(({ name, jobType, cronExpr, enabled }: Schedule) => [
      name,
      jobType,
      cronExpr,
      enabled,
    ])
    expect(brief).toEqual([
      ['anonymous_user_cleanup_daily', 'anonymous_user_cleanup', '0 6 * * *', false],
      ['attempt_cleanup', 'attempt_cleanup', '*/10 * * * *', true],
      ['audit_retention_daily', 'audit_log_retention', '0 2 * * *', false],
      ['billing_event_retention_daily', 'billing_event_retention', '0 4 * * *', true],
      ['event_log_prune', 'event_log_prune', '*/10 * * * *', true],
      ['expired_auth_cleanup_daily', 'expired_auth_cleanup', '0 5 * * *', true],
      ['expired_oauth_cleanup_daily', 'expired_oauth_cleanup', '0 4 * * *', true],
      ['function_deploy_cleanup_daily', 'function_deploy_cleanup', '0 3 * * *', true],
      ['idempotency_key_cleanup', 'idempotency_key_cleanup', '*/10 * * * *', true],
      ['inbound_message_retention_daily', 'inbound_message_retention', '0 3 * * *', true],
      ['job_retention_daily', 'job_retention', '0 7 * * *', true],
      ['log_retention_daily', 'log_retention', '0 6 * * *', true],
      ['oauth_provider_tokens_refresh_10m', 'oauth_provider_tokens_refresh', '*/5 * * * *', true],
      ['push_retention_daily', 'push_retention', '0 4 * * *', true],
      ['realtime_cleanup', 'realtime_cleanup', '*/10 * * * *', true],
      ['request_log_retention_daily', 'request_log_retention', '0 6 * * *', true],
      ['sent_mail_retention_daily', 'sent_mail_retention', '0 4 * * *', true],
      ['session_cleanup_hourly', 'stale_session_cleanup', '0 * * * *', true],
      ['site_cleanup_daily', 'site_cleanup', '0 3 * * *', true],
      ['site_domain_reverify_daily', 'site_domain_reverify', '0 4 * * *', true],
      ['sms_retention_daily', 'sms_retention', '0 4 * * *', true],
      ['social_sign_in_cleanup', 'social_sign_in_cleanup', '*/10 * * * *', true],
      ['storage_reaper', 'storage_reaper', '*/5 * * * *', true],
      ['support_retention_daily', 'support_retention', '0 4 * * *', true],
      ['unfinished_auth_cleanup_hourly', 'unfinished_auth_cleanup', '30 * * * *', true],
      ['usage_retention_daily', 'usage_retention', '0 7 * * *', true],
      ['webhook_delivery_prune_daily', 'webhook_delivery_prune', '0 3 * * *', true],
    ])
    for (const { enabled, nextRunAt, cronExpr } of json.items as Schedule[]) {
      // Hourly schedules may have run since the template database was made.
      const hour = cronExpr.split(' ')[1]
      const at = hour === '*' ? String.raw`\d\d:\d[05]` : `0${hour}:00`
      if (enabled) expect(nextRunAt).toMatch(new RegExp(`T${at}:00.000Z$`))
      else expect(nextRunAt).toBeNull()
    }
  })
})

describe('POST /api/admin/schedules', () => {
  test('creates a schedule with default values', async () => {
    await readAudit()
    const body = { name: 'plain', jobType: 'job_retention', cronExpr: yearly }
    const { status, json } = await request('POST', '', body)
    expect(status).toBe(201)
    expect(json).toEqual({
      ...body,
      id: uuid,
      payload: {},
      timezone: 'UTC',
      enabled: true,
      maxAttempts: 3,
      isOfFunction: false,
      nextRunAt: `${new Date().getUTCFullYear() + 1}-01-01T00:00:00.000Z`,
      createdAt: timestamp,
      updatedAt: timestamp,
    })
    expect((await request('GET', '')).json.items).toContainEqual(json)
    expect(await readAudit()).toEqual([
      {
        action: 'schedules.create',
        target: json.id,
        detail: { ...body, timezone: 'UTC', enabled: true },
        address: '127.0.0.1',
      },
    ])
  })

  test('accepts all fields', async () => {
    const schedule = await create({
      timezone: 'Asia/Kathmandu',
      payload: { retention_days: 9 },
      enabled: false,
      maxAttempts: 1,
    })
    expect(schedule).toMatchObject({
      timezone: 'Asia/Kathmandu',
      payload: { retention_days: 9 },
      enabled: false,
      maxAttempts: 1,
      nextRunAt: null,
    })
  })

  test('computes the next run in the time zone', async () => {
    const { nextRunAt } = await create({ timezone: 'Asia/Kathmandu' })
    expect(nextRunAt).toMatch(/-12-31T18:15:00.000Z$/)
  })

  test('returns 409 for a name in use, also for six requests at once on two nodes', async () => {
    const body = { name: 'wanted', jobType: 'job_retention', cronExpr: yearly }
    const responses = await Promise.all(
      Array.from({ length: 6 }, (_, index) => request('POST', '', body, index % 2 === 0 ? app : second)),
    )
    expect(responses.map(({ status }) => status).sort()).toEqual([201, ...Array(5).fill(409)])
    const rejected = responses.find(({ status }) => status === 409)
    expect(rejected && envelope(rejected)).toEqual({
      code: 409,
      message: 'schedule name already taken',
      error: 'schedule_name_taken',
    })
  })

  test.each<[object, string]>([
    [{ name: undefined }, 'name is required'],
    [{ name: '  ' }, 'name is required'],
    [{ name: 'x'.repeat(101) }, 'name must be at most 100 characters'],
    [{ name: 7 }, 'name: must be string'],
    [{ name: 'a\0b' }, 'name: expected Unicode text without NUL'],
    [{ name: 'a\ud800' }, 'name: expected Unicode text without NUL'],
    [{ name: 'function:nightly' }, 'name must not begin with "function:"'],
    [{ payload: { a: 'b\0' } }, 'invalid payload: texts must be well-formed Unicode without NUL'],
    [{ jobType: undefined }, 'jobType is required'],
    [{ jobType: 'nothing' }, 'unknown job type "nothing"'],
    [{ cronExpr: undefined }, 'cronExpr is required'],
    [{ cronExpr: '* * * *' }, 'invalid cron expression'],
    [{ cronExpr: '* * * * * *' }, 'invalid cron expression'],
    [{ cronExpr: '0 0 30 2 *' }, 'invalid cron expression'],
    [{ cronExpr: '@daily' }, 'invalid cron expression'],
    [{ cronExpr: 5 }, 'cronExpr: must be string'],
    [{ timezone: 'Mars/Olympus' }, 'invalid timezone'],
    [{ timezone: '+01:00' }, 'invalid timezone'],
    [{ timezone: '' }, 'invalid timezone'],
    [{ payload: 'x' }, 'payload: must be object'],
    [
      { payload: { retention_days: 'x' } },
      'invalid payload: retention_days must be an integer from 1 to 36500',
    ],
    [{ enabled: 'yes' }, 'enabled: must be boolean'],
    [{ maxAttempts: 0 }, 'maxAttempts: must be >= 1'],
  ])('rejects %j', async (part, message) => {
    const before = (await request('GET', '')).json.count
    const response = await request('POST', '', {
      name: 'never',
      jobType: 'job_retention',
      cronExpr: yearly,
      ...part,
    })
    expect([response.status, response.json.message]).toEqual([400, message])
    expect((await request('GET', '')).json.count).toBe(before)
  })
})

describe('PUT /api/admin/schedules/{id}', () => {
  test('changes the given fields and computes the next run again', async () => {
    const schedule = await create()
    await readAudit()
    const change = { cronExpr: '30 12 24 12 *', timezone: 'Europe/Berlin' }
    const { status, json } = await request('PUT', `/${schedule.id}`, change)
    expect(status).toBe(200)
    expect(json).toEqual({
      ...schedule,
      ...change,
      nextRunAt: expect.stringMatching(/-12-24T11:30:00.000Z$/),
      updatedAt: timestamp,
    })
    expect(await readAudit()).toEqual([
      {
        action: 'schedules.update',
        target: schedule.id,
        detail: { name: schedule.name, ...change },
        address: '127.0.0.1',
      },
    ])
    const payload = { retention_days: 3 }
    expect((await request('PUT', `/${schedule.id}`, { payload })).json).toMatchObject({
      ...change,
      payload,
      nextRunAt: json.nextRunAt,
    })
    const off = (await request('PUT', `/${schedule.id}`, { enabled: false })).json
    expect(off).toMatchObject({ enabled: false, nextRunAt: null })
    expect((await request('PUT', `/${schedule.id}`, { enabled: true })).json).toMatchObject({
      enabled: true,
      nextRunAt: json.nextRunAt,
    })
  })

  test('accepts a schedule as it was returned', async () => {
    const schedule = await create()
    const { status, json } = await request('PUT', `/${schedule.id}`, schedule)
    expect([status, json]).toEqual([200, { ...schedule, updatedAt: timestamp }])
  })

  test.each<[object, string]>([
    [{ name: 'another' }, 'name cannot be changed'],
    [{ jobType: 'audit_log_retention' }, 'jobType cannot be changed'],
    [{ maxAttempts: 9 }, 'maxAttempts cannot be changed'],
    [{ cronExpr: '' }, 'invalid cron expression'],
    [{ cronExpr: '61 * * * *' }, 'invalid cron expression'],
    [{ timezone: 'Nowhere' }, 'invalid timezone'],
    [
      { payload: { retention_days: -1 } },
      'invalid payload: retention_days must be an integer from 1 to 36500',
    ],
    [{ enabled: null }, 'enabled: must be boolean'],
  ])('rejects %j', async (change, message) => {
    const schedule = await create()
    const response = await request('PUT', `/${schedule.id}`, change)
    expect([response.status, response.json.message]).toEqual([400, message])
    expect((await request('GET', '')).json.items).toContainEqual(schedule)
  })
})

describe('POST /api/admin/schedules/{id}/enable and /disable, DELETE', () => {
  test('changes the schedule and writes the audit log', async () => {
    const { id, name, nextRunAt } = await create()
    await readAudit()
    for (const [path, enabled, next] of [
      ['disable', false, null],
      ['disable', false, null],
      ['enable', true, nextRunAt],
      ['enable', true, nextRunAt],
    ] as const) {
      const { status, json } = await request('POST', `/${id}/${path}`)
      expect([status, json]).toEqual([200, expect.objectContaining({ id, enabled, nextRunAt: next })])
    }
    const deleted = await request('DELETE', `/${id}`)
    expect([deleted.status, deleted.text]).toEqual([204, ''])
    expect((await request('DELETE', `/${id}`)).status).toBe(404)
    const change = (enabled: boolean) => ({ name, enabled })
    expect(await readAudit()).toEqual(
      [
        ['schedules.disable', change(false)],
        ['schedules.disable', change(false)],
        ['schedules.enable', change(true)],
        ['schedules.enable', change(true)],
        ['schedules.delete', { name }],
      ].map(([action, detail]) => ({ action, target: id, detail, address: '127.0.0.1' })),
    )
  })
})

const routes = [
  ['GET', ''],
  ['POST', ''],
  ['PUT', `/${unknownId}`],
  ['DELETE', `/${unknownId}`],
  ['POST', `/${unknownId}/enable`],
  ['POST', `/${unknownId}/disable`],
] as const

describe('/api/admin/schedules', () => {
  test.each(routes.slice(2))(
    '%s %s returns 404 for an unknown schedule and 400 for a malformed id',
    async (method, path) => {
      const body = method === 'PUT' ? {} : undefined
      const missing = await request(method, path, body)
      expect(missing.status).toBe(404)
      expect(envelope(missing)).toEqual({
        code: 404,
        message: 'schedule not found',
        error: 'schedule_not_found',
      })
      const wrong = await request(method, path.replace(unknownId, 'x'), body)
      expect(wrong.status).toBe(400)
      expect(envelope(wrong)).toEqual({
        code: 400,
        message: 'invalid schedule id format',
        error: 'invalid_schedule_id',
      })
    },
  )

  test.each(routes)('%s %s returns 401 without an administrator’s token', async (method, path) => {
    for (const token of [undefined, userToken({ sub: unknownId }), 'basalt_admin_wrong']) {
      expect((await app.request(method, `/api/admin/schedules${path}`, { token })).status).toBe(401)
    }
  })
})

describe('scheduler', () => {
  test('adds one job however many runs were missed, on two nodes', async () => {
    const schedules = await Promise.all(
      Array.from({ length: 8 }, () => create({ payload: { retention_days: 5 }, maxAttempts: 4 })),
    )
    const ids = schedules.map(({ id }) => id)
    await makeDue(ids, '40 days')
    for (const { id, nextRunAt } of schedules) {
      expect(await jobsOf(id)).toEqual([
        { id: expect.any(String), type: 'job_retention', payload: { retention_days: 5 }, max_attempts: 4 },
      ])
      const { json } = await request('GET', '')
      expect(json.items.find((item: Schedule) => item.id === id)).toMatchObject({
        nextRunAt,
        lastRunAt: timestamp,
        enabled: true,
      })
    }
    const [first] = await jobsOf(ids[0] ?? '')
    const token = await app.adminToken()
    const job = await app.request('GET', `/api/admin/jobs/${first?.id}`, { token })
    expect(job.json).toMatchObject({ scheduleId: ids[0], maxAttempts: 4 })
    // Both nodes have polled again since and found nothing.
    const later = await create()
    await makeDue([later.id], '1 s')
    await jobsOf(later.id)
    for (const id of ids) expect(await jobsOf(id)).toHaveLength(1)
  })

  test('runs a due schedule on one of two nodes that poll at the same time', async () => {
    const ids = [(await create()).id, (await create()).id]
    await using blocker = await openTransaction(database)
    // The lock stops both nodes at adding their job.
    await blocker.sql('lock table basalt.jobs in share mode')
    await makeDue(ids.slice(0, 1), '2 min')
    await makeDue(ids.slice(1), '1 min')
    await blocker.waitForBlocked(2)
    await blocker.commit()
    for (const id of ids) await jobsOf(id)
    // A further run shows that both nodes are done with the first.
    const later = await create()
    await makeDue([later.id], '1 s')
    await jobsOf(later.id)
    for (const id of ids) expect(await jobsOf(id)).toHaveLength(1)
  })

  test('keeps the next run of a schedule when its payload changes', async () => {
    const { id } = await create()
    await app.sql("update basalt.schedules set next_run_at = now() + interval '1 hour' where id = $1", [id])
    const { json } = await request('PUT', `/${id}`, { payload: { retention_days: 2 } })
    expect(Date.parse(json.nextRunAt) - Date.now()).toBeLessThan(3_700_000)
  })

  test('skips a schedule whose job type this version does not know', async () => {
    const { id } = await create()
    await app.sql("update basalt.schedules set job_type = 'of.tomorrow' where id = $1", [id])
    const known = await create()
    await makeDue([id, known.id], '1 min')
    await jobsOf(known.id)
    const [row] = await app.sql(
      'select enabled, next_run_at < now() as is_due from basalt.schedules where id = $1',
      [id],
    )
    expect(row).toEqual({ enabled: true, is_due: true })
  })

  test('disables a schedule whose next run cannot be computed, and runs the others', async () => {
    const broken = await create()
    await app.sql("update basalt.schedules set timezone = 'Mars/Olympus' where id = $1", [broken.id])
    const good = await create()
    await makeDue([broken.id], '2 min')
    await makeDue([good.id], '1 min')
    await jobsOf(good.id)
    const [row] = await app.sql(
      'select enabled, next_run_at, last_run_at from basalt.schedules where id = $1',
      [broken.id],
    )
    expect(row).toEqual({ enabled: false, next_run_at: null, last_run_at: null })
    expect([...app.log, ...second.log].join()).toContain('its next run cannot be computed')
  })
})

describe('housekeeping schedules', () => {
  test('remove expired rows', async () => {
    await app.sql(`
      insert into basalt.users (is_anonymous, created_at) values (true, now() - interval '31 days'), (true, now());
      insert into basalt.audit (actor, action, happened_at) values ('admin', 'test.old', now() - interval '91 days');
      insert into basalt.audit (actor, action) values ('admin', 'test.new')`)
    await app.sql(`
      insert into basalt.jobs (type, state, max_attempts, finished_at, created_at)
      values ('job_retention', 'failed', 1, now() - interval '8 days', '2020-01-01'),
        ('job_retention', 'failed', 1, now() - interval '6 days', '2020-01-01')`)
    await app.sql(`
      insert into basalt.sessions (user_id, aal, amr, user_agent, expires_at)
      select id, 'aal1', '{password}', agent, expires_at
      from basalt.users, (values ('stale', now() - interval '1 s'), ('fresh', now() + interval '1 h')) s (agent, expires_at)
      where created_at > now() - interval '1 day'`)
    await app.sql(`
      with hook as (
        insert into basalt.webhooks (id, url, events, tables, enabled)
        values (gen_random_uuid(), 'http://127.0.0.1:9/', '{create}', '{none}', true) returning id
      )
      insert into basalt.webhook_deliveries (webhook_id, event_id, event_action, event_table, success, attempt,
        duration_ms, request_body, delivered_at)
      select id, gen_random_uuid(), 'create', 'none', true, hours, 1, '{}', now() - make_interval(hours => hours)
      from hook, unnest(array[1, 167, 169]) hours
      union all
      -- These are more rows than one statement removes.
      select id, gen_random_uuid(), 'create', 'none', true, 200, 1, '{}', now() - interval '200 h'
      from hook, generate_series(1, 11000)`)
    await app.sql(`
      insert into basalt.attempts (key, count, window_ends_at)
      values ('test:old', 1, now() - interval '1 s'), ('test:new', 1, now() + interval '1 h');
      insert into basalt.realtime_tables (table_name, wanted_until)
      values ('old', now() - interval '2 h'), ('new', now());
      insert into basalt.outbox (action, table_name, record, happened_at)
      values ('create', 'old', '{}', now() - interval '10 years'), ('create', 'new', '{}', now())`)
    const token = await app.adminToken()
    const ids: string[] = []
    for (const type of [
      'anonymous_user_cleanup',
      'audit_log_retention',
      'job_retention',
      'expired_auth_cleanup',
      'stale_session_cleanup',
      'webhook_delivery_prune',
      'attempt_cleanup',
      'realtime_cleanup',
      'event_log_prune',
    ]) {
      const response = await app.request('POST', '/api/admin/jobs', { token, body: { type } })
      ids.push(response.json.id)
    }
    await waitFor('the jobs to complete', async () => {
      const done = await app.sql("select from basalt.jobs where id::text = any($1) and state = 'completed'", [
        ids,
      ])
      return done.length === ids.length
    })
    expect(await app.sql('select is_anonymous from basalt.users')).toHaveLength(1)
    expect(await app.sql("select key from basalt.attempts where key like 'test:%'")).toEqual([
      { key: 'test:new' },
    ])
    expect(await app.sql('select table_name from basalt.realtime_tables')).toEqual([{ table_name: 'new' }])
    expect(await app.sql("select action from basalt.audit where action like 'test.%'")).toEqual([
      { action: 'test.new' },
    ])
    expect(await app.sql("select from basalt.jobs where created_at = '2020-01-01'")).toHaveLength(1)
    expect(await app.sql('select user_agent from basalt.sessions')).toEqual([{ user_agent: 'fresh' }])
    const attempts = () => app.sql('select attempt from basalt.webhook_deliveries order by attempt')
    expect(await attempts()).toEqual([{ attempt: 1 }, { attempt: 167 }])
    const shorter = { type: 'webhook_delivery_prune', payload: { retention_hours: 24 } }
    const { json } = await app.request('POST', '/api/admin/jobs', { token, body: shorter })
    await waitFor('the job to complete', async () => {
      const done = await app.sql("select from basalt.jobs where id::text = $1 and state = 'completed'", [
        json.id,
      ])
      return done.length === 1
    })
    expect(await attempts()).toEqual([{ attempt: 1 }])
  })
})
