import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { openEventStream } from '../../../../server/test/event-stream.ts'
import { alice, bob } from '../../../../server/test/fixtures.ts'
import { answer, type Receiver, startReceiver } from '../../../../server/test/receiver.ts'
import { userToken } from '../../../../server/test/test-app.ts'
import { type Dashboard, journeys, openDashboard } from '../../tests/journey.ts'

const setup = `
  create table note (id int primary key, owner uuid, body text);
  alter table note enable row level security;
  create policy own on note using (owner = basalt.user_id());
  create index on note (owner);
  create function add_job() returns trigger language plpgsql security definer as $$
  begin
    insert into basalt.jobs (type, max_attempts, run_at) values ('job_retention', 3, now() + interval '1 y');
    return null;
  end $$;
  create trigger add_job after insert on note for each row when (new.id = 9) execute function add_job();
  create table plain (id int primary key);
  create materialized view note_count as select count(*) as notes from note;
  revoke select on note_count from basalt_authenticated`

journeys('dashboard › events, webhooks, advisors, jobs and realtime', () => {
  let dashboard: Dashboard
  let receiver: Receiver
  let sql: Dashboard['app']['sql']
  let write: (id: number, body: string) => Promise<unknown>

  beforeAll(async () => {
    dashboard = await openDashboard({ setup })
    receiver = await startReceiver(answer(200, {}, 'thank you'))
    sql = dashboard.app.sql
    await sql(`insert into basalt.users (id, email) values ('${alice}', 'alice@example.com')`)
    const token = userToken({ sub: alice })
    write = (id, body) =>
      dashboard.app.request('POST', '/api/collections/note', { token, body: { id, owner: alice, body } })
  })
  afterAll(async () => {
    await receiver?.[Symbol.asyncDispose]()
    await dashboard?.[Symbol.asyncDispose]()
  })
  afterEach(() => dashboard.expectNoProblems())

  test('creates a webhook, and shows its secret once', async () => {
    const { page } = dashboard
    await dashboard.open('/webhooks')
    await page.getByRole('button', { name: 'New webhook' }).click()
    await page.getByLabel('URL').fill(receiver.url)
    await page.getByLabel('Tables').fill('note')
    await page.getByRole('button', { name: 'Create webhook' }).click()
    await page.getByText(/^whsec_/).waitFor()
    await page.getByRole('button', { name: 'I have stored it' }).click()
    await page.getByRole('link', { name: receiver.url }).click()
    await page.getByRole('button', { name: 'Send a test' }).click()
    await page.getByText('Delivered · 200').waitFor()
    expect(await sql('select url, tables, secret is not null as is_signed from basalt.webhooks')).toEqual([
      { url: receiver.url, tables: ['note'], is_signed: true },
    ])
    await dashboard.expectAccessible()
    await dashboard.screenshot('webhooks')
    receiver.received.length = 0
  })

  test('shows a write as an event with its attempt, and redelivers it', async () => {
    const { page } = dashboard
    await dashboard.open('/events?follow=true')
    await write(1, '<img src=x onerror=alert(1)>')
    await page.getByRole('link', { name: 'create note 1' }).click()
    const line = page.getByRole('list', { name: 'Timeline' })
    await line.getByText('Attempt 1').waitFor()
    await line.getByText('Delivered · 200').waitFor()
    await line.getByRole('link', { name: 'alice@example.com' }).waitFor()
    await dashboard.expectAccessible()
    await dashboard.screenshot('events')
    await line.getByRole('button', { name: 'Redeliver' }).click()
    await line.getByText('Attempt 2').waitFor()
    expect(receiver.received).toHaveLength(2)
    expect(receiver.received[0]?.raw).toEqual(receiver.received[1]?.raw)
    await line.getByRole('button', { name: 'Send to another URL…' }).click()
    await page.getByLabel('URL', { exact: true }).fill('http://169.254.169.254/')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await page.getByText('url: the address is not one that webhooks may be sent to').waitFor()
    await page.keyboard.press('Escape')
    expect(await sql('select attempt, success from basalt.webhook_deliveries order by attempt')).toEqual([
      { attempt: 1, success: true },
      { attempt: 2, success: true },
    ])
  })

  test('redelivers a range of failed deliveries', async () => {
    const { page } = dashboard
    await sql('update basalt.webhook_deliveries set success = false')
    receiver.received.length = 0
    await dashboard.open('/webhooks')
    await page.getByRole('link', { name: receiver.url }).click()
    await page.getByRole('button', { name: 'Redeliver…' }).click()
    await page.getByText('1 event.').waitFor()
    await page.getByRole('dialog').getByRole('button', { name: 'Redeliver' }).click()
    await expect.poll(() => receiver.received.length).toBe(1)
  })

  test('continues a range that exceeds one request', async () => {
    const { page } = dashboard
    await sql(`insert into basalt.webhook_deliveries
        (webhook_id, event_id, event_action, event_table, log_id, success, attempt, duration_ms, request_body)
      select w.id, gen_random_uuid(), 'create', 'note', 1000 + n, true, 1, 1, json_build_object('n', n)
      from basalt.webhooks w, generate_series(1, 3) n`)
    receiver.received.length = 0
    const numbers = () => receiver.received.flatMap(({ json: { n } }) => n ?? []).sort()
    await page.getByRole('button', { name: 'Redeliver…' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Events').selectOption('delivered')
    await dialog.getByLabel('Batch size').fill('2')
    await dialog.getByText('At least 2 events.').waitFor()
    await dialog.getByRole('button', { name: 'Redeliver' }).click()
    await dialog.getByText('2 events queued.').waitFor()
    await dialog.getByText('2 events more.').waitFor()
    await dashboard.screenshot('webhooks-replay')
    // Further attempts at the first events do not add them to the rest.
    await dialog.getByRole('button', { name: 'Continue' }).click()
    await dialog.getByText('4 events queued.').waitFor()
    await dialog.getByText('0 events more.').waitFor()
    await dialog.getByRole('button', { name: 'Close', exact: true }).last().click()
    await expect.poll(() => dialog.count()).toBe(0)
    await expect.poll(numbers).toEqual([1, 2, 3])
    expect(receiver.received).toHaveLength(4)
  })

  test('shows the streams and the jobs of an event', async () => {
    const { app, page } = dashboard
    const open = (user: string) =>
      openEventStream(app.url, 'tables=note', { token: userToken({ sub: user }) })
    await using hers = await open(alice)
    await using _his = await open(bob)
    await write(9, 'streamed')
    await hers.next(1)
    await dashboard.open('/events?record=9')
    await page.getByRole('link', { name: 'create note 9' }).click()
    const nodes = page.getByRole('list', { name: 'Nodes' })
    await nodes
      .getByText(`sent to 1 stream of alice@example.com; withheld from 1 by their policies or filters`)
      .waitFor()
    await nodes.getByRole('link', { name: 'alice@example.com' }).waitFor()
    await dashboard.expectAccessible()
    await dashboard.screenshot('event-streams')
    await page.getByRole('heading', { name: 'Job job_retention queued' }).getByRole('link').click()
    await page.getByRole('complementary').getByText('job_retention').first().waitFor()
    const [job] = await sql("select id from basalt.jobs where type = 'job_retention'")
    expect(new URL(page.url()).pathname).toBe(`/admin/jobs/${job?.id}`)
  })

  test('shows the statement of an advice, dismisses it, and removes it once it was applied', async () => {
    const { page } = dashboard
    await dashboard.open('/advisors?query=public.plain')
    const statement = 'alter table "public"."plain" enable row level security;'
    await page.getByText(statement).waitFor()
    await dashboard.expectAccessible()
    await dashboard.screenshot('advisors')
    await page.getByRole('button', { name: 'Dismiss…' }).click()
    await page.getByLabel('Reason').fill('everybody may')
    await page.getByRole('button', { name: 'Dismiss', exact: true }).click()
    await page.getByText(/^No problems found\./).waitFor()
    expect(await sql('select object, reason from basalt.advice_dismissals')).toEqual([
      { object: 'public.plain', reason: 'everybody may' },
    ])
    await page.getByLabel('Dismissed').click()
    await page.getByRole('button', { name: 'Restore' }).click()
    await page.getByLabel('Dismissed').click()
    await page.getByText(statement).waitFor()
    await sql(statement)
    await page.getByRole('button', { name: 'Refresh' }).click()
    await page.getByText(statement).waitFor({ state: 'detached' })
  })

  test('adds and cancels a job, disables a schedule, registers and refreshes a view', async () => {
    const { page } = dashboard
    await dashboard.open('/jobs')
    await page.getByRole('button', { name: 'Add a job' }).click()
    await page.getByLabel('Type').last().fill('event_log_prune')
    await page.getByLabel('Not before').fill('2200-01-01T00:00')
    await page.getByRole('button', { name: 'Add job' }).click()
    await page.getByLabel('State').selectOption('queued')
    await page.getByRole('link', { name: 'event_log_prune' }).click()
    await dashboard.screenshot('jobs')
    await page.getByRole('button', { name: 'Cancel' }).click()
    await expect
      .poll(() =>
        sql(
          "select state from basalt.jobs where type = 'event_log_prune' and run_at > now() + interval '1 y'",
        ),
      )
      .toEqual([{ state: 'canceled' }])
    await dashboard.expectAccessible()

    await dashboard.open('/schedules')
    const [{ name } = { name: '' }] = await sql(
      'select name from basalt.schedules where enabled order by name',
    )
    await page.getByLabel(`${name} enabled`).click()
    await expect
      .poll(() => sql(`select enabled from basalt.schedules where name = '${name}'`))
      .toEqual([{ enabled: false }])
    await dashboard.expectAccessible()
    await dashboard.screenshot('schedules')

    await dashboard.open('/matviews')
    await page.getByRole('button', { name: 'Register a view' }).click()
    await page.getByRole('textbox', { name: 'View' }).fill('note_count')
    await page.getByRole('button', { name: 'Register view' }).click()
    await page.getByRole('button', { name: 'Refresh' }).click()
    await page.getByText(/note_count refreshed in/).waitFor()
    await expect
      .poll(() => sql('select last_refresh_status from basalt.matviews'))
      .toEqual([{ last_refresh_status: 'success' }])
    await dashboard.expectAccessible()
    await dashboard.screenshot('matviews')
  })

  test('shows a change in the inspector only if the policies allow it, and counts it otherwise', async () => {
    const { page } = dashboard
    await dashboard.open(`/realtime/inspector?tables=note&as=${alice}`)
    await page.getByRole('button', { name: 'Subscribe' }).click()
    await page.getByText('Connected', { exact: true }).waitFor()
    await write(2, 'for her')
    await page.getByText('"body":"for her"').waitFor()
    await sql("insert into basalt.users (id) values ('b0b00000-0000-4000-8000-000000000001')")
    await dashboard.expectAccessible()
    await dashboard.screenshot('realtime')
    await page.getByRole('textbox', { name: 'As', exact: true }).fill('b0b00000-0000-4000-8000-000000000001')
    await page.getByRole('button', { name: 'Subscribe' }).click()
    await page.getByText('Connected', { exact: true }).waitFor()
    await write(3, 'not for him')
    await page.getByText('not sent to this subscriber').first().waitFor()
    expect(await page.getByText('not for him').count()).toBe(0)
    await page.getByRole('tab', { name: 'Preview of past events' }).click()
    await page.getByRole('textbox', { name: 'As', exact: true }).fill(alice)
    await page.getByRole('button', { name: 'Preview', exact: true }).click()
    await page.getByText('"body":"not for him"').waitFor()
    await dashboard.open('/realtime')
    await dashboard.expectAccessible()
  })
})
