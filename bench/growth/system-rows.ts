/** User with a third of the requests, audit entries and events. */
export const bigUser = '00000000-0000-4000-8000-000000000001'
/** User with twenty of each, the oldest ones. */
export const smallUser = '00000000-0000-4000-8000-000000000002'
/** Webhook whose attempts fill the log of deliveries. */
export const webhook = '00000000-0000-4000-8000-0000000000ff'
/** Record of the table `note` with twenty audit entries and events, the oldest ones. */
export const record = smallUser

const origin = (user: string) => `'["user","' || ${user} || '",null,"request",null,"127.0.0.1"]'`
const userOf = `case when n <= 20 then '${smallUser}' when n % 3 = 0 then '${bigUser}'
  else '00000000-0000-4000-8000-' || lpad(to_hex(3 + n % 5000), 12, '0') end`
const recordOf = `case when n <= 20 then '${record}' else md5(n::text)::uuid::text end`

/** Returns statements that fill the system tables with so many rows each, in the order of their time, and gather statistics. */
export function fillSystemTables(rows: number): readonly string[] {
  const series = `generate_series(1, ${rows}) n`
  const time = `now() - make_interval(secs => (${rows} - n) * 0.5)`
  return [
    `insert into basalt.users (id, email, email_verified_at, created_at)
      select ('00000000-0000-4000-8000-' || lpad(to_hex(n), 12, '0'))::uuid,
        'user' || n || '.' || substr(md5(n::text), 1, 6) || '@' || substr(md5((n % 1000)::text), 1, 5) || '.example',
        now(), ${time}
      from ${series}`,
    `insert into basalt.sessions (user_id, aal, amr, expires_at, created_at)
      select (${userOf})::uuid, 'aal1', '{pwd}', now() + interval '1 day', ${time} from ${series}`,
    `insert into basalt.requests (happened_at, method, path, operation, status, duration_ms, user_id, app_id,
        request_size, response_size, address, request_id, node)
      select ${time}, 'GET', '/api/collections/note/' || n, 'collections.read',
        case when n % 1000 = 0 then 500 when n % 20 = 0 then 404 else 200 end, 1 + n % 50, ${userOf},
        '00000000-0000-0000-0000-000000000000', 300, 900, '127.0.0.1', 'request-' || n, 'node'
      from ${series}`,
    `insert into basalt.audit (happened_at, actor, action, operation, table_name, record_id, new_values, user_id, address,
        request_id)
      select ${time}, 'user', 'rows.insert', 'INSERT', 'note', ${recordOf}, jsonb_build_object('id', n, 'title', md5(n::text)),
        ${userOf}, '127.0.0.1', 'request-' || n
      from ${series}`,
    `insert into basalt.logs (logged_at, level, message, attrs, node, request_id)
      select ${time}, case when n % 1000 = 0 then 50 else 30 end, 'sent mail ' || n,
        jsonb_build_object('to', md5(n::text), 'attempt', n % 3), 'node', null
      from ${series}`,
    `insert into basalt.jobs (type, payload, state, max_attempts, created_at, run_at, finished_at, attempts)
      select 'mail_send', '{}', case when n % 10 = 0 then 'queued' when n % 1000 = 1 then 'failed'
        when n % 1000 = 2 then 'canceled' else 'completed' end, 3, ${time},
        case when n % 10 = 0 then now() + interval '1 day' else ${time} end,
        case when n % 10 = 0 then null else ${time} end, 1
      from ${series}`,
    `insert into basalt.outbox (action, table_name, record_key, record, happened_at, origin)
      select 'create', 'note', json_build_array(${recordOf})::text, json_build_object('id', ${recordOf}, 'title', md5(n::text)),
        ${time}, ${origin(`(${userOf})`)}
      from ${series}`,
    `insert into basalt.webhooks (id, url, events, tables, enabled)
      values ('${webhook}', 'http://127.0.0.1:9/', '{create}', '{note}', false) on conflict do nothing`,
    `insert into basalt.webhook_deliveries (webhook_id, event_id, event_action, event_table, log_id, success, status_code,
        attempt, duration_ms, request_body, delivered_at)
      select '${webhook}', md5(n::text)::uuid, 'create', 'note', n, n % 1000 <> 0, 200, 1, 5, '{}', ${time}
      from ${series}`,
    `insert into basalt.sms_messages (user_id, recipient, body, provider, status, created_at)
      select null, '+12025550123', 'hello', 'log', 'delivered', ${time} from ${series}`,
    `insert into basalt.support_tickets (user_id, subject, status, created_at, updated_at)
      select (${userOf})::uuid, 'a question', case when n % 1000 = 0 then 'open' else 'closed' end, ${time}, ${time} from ${series}`,
    `insert into basalt.sql_runs (id, query, mode, run_as, status, statements, started_at)
      select gen_random_uuid(), 'select ' || n, 'read', 'admin', 'succeeded', 1, ${time} from ${series}`,
    `insert into basalt.push_devices (app_id, user_id, provider, platform, token, token_hash, created_at)
      select '00000000-0000-0000-0000-000000000000', (${userOf})::uuid, 'fcm', 'android', 't' || n,
        sha256(('t' || n)::bytea), ${time} from ${series}`,
    `insert into basalt.push_sends (id, app_id, title, body, data, options, created_at)
      values ('${webhook}', '00000000-0000-0000-0000-000000000000', 'hello', '', '{}', '{}', now())
      on conflict do nothing`,
    `insert into basalt.push_deliveries (send_id, device_id, user_id, status, created_at)
      select '${webhook}', d.id, d.user_id, case when random() < 0.001 then 'failed' else 'sent' end, d.created_at
      from basalt.push_devices d on conflict do nothing`,
    'vacuum analyze',
  ]
}
