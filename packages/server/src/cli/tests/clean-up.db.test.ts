import { expect, test } from 'vitest'
import { basaltHere } from '../../../test/terminal.ts'
import { createTestDatabase } from '../../../test/test-app.ts'
import { testSecret } from '../../../test/test-config.ts'

const app = '00000000-0000-0000-0000-000000000000'

/** Statements that insert two rows into each table: an expired one and a current one. */
const rows = `
insert into basalt.attempts (key, count, window_ends_at) values
  ('old', 1, now() - interval '1 minute'), ('new', 1, now() + interval '1 day');
insert into basalt.realtime_tables (table_name, wanted_until) values
  ('old', now() - interval '2 hours'), ('new', now() + interval '1 day');
insert into basalt.jobs (type, max_attempts, state, finished_at) values
  ('old', 1, 'completed', now() - interval '8 days'), ('new', 1, 'completed', now());
insert into basalt.logs (logged_at, level, message, node) values
  (now() - interval '8 days', 30, 'old', 'web/1'), (now(), 30, 'new', 'web/1');
insert into basalt.requests (happened_at, method, path, status, duration_ms, app_id, request_size, response_size,
  request_id, node) values
  (now() - interval '8 days', 'GET', 'old', 200, 1, '${app}', 1, 1, 'x', 'web/1'),
  (now(), 'GET', 'new', 200, 1, '${app}', 1, 1, 'x', 'web/1');
insert into basalt.usage_hours (app_id, hour, requests) values
  ('${app}', now() - interval '800 days', 1), ('${app}', now(), 2);
insert into basalt.audit (happened_at, actor, action) values
  (now() - interval '800 days', 'admin', 'old');
`

test('basalt clean-up › removes expired data, and nothing else', async () => {
  await using database = await createTestDatabase()
  await database.sql(rows)
  const env = { BASALT_DATABASE_URL: database.url, BASALT_AUTH_JWT_SECRET: testSecret }
  const { code, stdout, stderr } = await basaltHere(['clean-up'], { env })
  expect({ code, stdout, stderr }).toEqual({
    code: 0,
    stdout: 'removed 0 anonymous accounts, 0 unconfirmed factors, 1 finished jobs, 0 deliveries, 0 changes\n',
    stderr: '',
  })
  const left = async (table: string, column: string) =>
    (await database.sql(`select ${column} as name from basalt.${table} order by 1`)).map(({ name }) => name)
  expect({
    attempts: await left('attempts', 'key'),
    realtime: await left('realtime_tables', 'table_name'),
    jobs: await left('jobs', 'type'),
    logs: await left('logs', 'message'),
    requests: await left('requests', 'path'),
    usage: await left('usage_hours', 'requests::int'),
    // It is kept until its schedule is enabled.
    audit: await left('audit', 'action'),
  }).toEqual({
    attempts: ['new'],
    realtime: ['new'],
    jobs: ['new'],
    logs: ['new'],
    requests: ['new'],
    usage: [2],
    audit: ['old'],
  })
})
