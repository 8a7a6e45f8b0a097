import { type Receiver, type Respond, startReceiver } from './receiver.ts'
import { createTestApp, type TestApp, type TestAppOptions } from './test-app.ts'
import { waitFor } from './wait-for.ts'

/** Server with its administrator, for tests of webhooks. */
export interface WebhooksApp extends AsyncDisposable {
  readonly app: TestApp
  readonly admin: string
  /** Opens a receiver that is disposed with the app. */
  receiver(respond?: Respond): Promise<Receiver>
  /** Creates a webhook and returns it. */
  webhook(fields: Readonly<Record<string, unknown>>): Promise<{ readonly id: string }>
  /** Sends a request as the administrator: `/api/…`. */
  send(method: string, path: string, body?: unknown): ReturnType<TestApp['request']>
  /** Waits until log and queue are empty. */
  settle(): Promise<void>
}

export async function createWebhooksApp(options: TestAppOptions): Promise<WebhooksApp> {
  const app = await createTestApp(options)
  const admin = await app.adminToken()
  const receivers: Receiver[] = []
  const send: WebhooksApp['send'] = (method, path, body) =>
    app.request(method, `/api/${path}`, { token: admin, ...(body === undefined ? {} : { body }) })
  return {
    app,
    admin,
    send,
    async receiver(respond) {
      const receiver = await startReceiver(respond)
      receivers.push(receiver)
      return receiver
    },
    async webhook(fields) {
      const response = await send('POST', 'webhooks', fields)
      if (response.status !== 201) throw new Error(response.text)
      return response.json
    },
    settle: () => waitForNoWork(app.sql),
    async [Symbol.asyncDispose]() {
      await app[Symbol.asyncDispose]()
      for (const receiver of receivers) await receiver[Symbol.asyncDispose]()
    },
  }
}

/** Waits until every event was read and no delivery is pending. */
export async function waitForNoWork(sql: TestApp['sql'], timeoutMs?: number): Promise<void> {
  await waitFor(
    'all webhooks to be delivered',
    async () => {
      const [row] = await sql(`
        select not exists (
            select from basalt.outbox o, basalt.event_cursors c
            where not pg_visible_in_snapshot(o.transaction_id, c.passed)
          ) and not exists (select from basalt.webhook_queue) as is_done`)
      return row?.is_done === true
    },
    timeoutMs,
  )
}

/** Makes attempts due that wait for their time. */
export async function hurryRetries(sql: TestApp['sql']): Promise<void> {
  await sql('update basalt.webhook_queue set due_at = now() where leased_until is null')
}

/** Waits until the only pending delivery has so many attempts, and makes the next one due. */
export async function hurryAfter(sql: TestApp['sql'], attempts: number): Promise<void> {
  await waitFor(`attempt ${attempts} to end`, async () => {
    const rows = await sql(
      `update basalt.webhook_queue set due_at = now()
       where attempts = ${attempts} and leased_until is null returning 1`,
    )
    return rows.length > 0
  })
}
