import { describe, expect, test } from 'vitest'
import { answer, startReceiver } from '../../../../../test/receiver.ts'
import { createTestApp, type TestApp } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'

/** Sends a request that fails with a line in the log. */
async function fail(app: TestApp, requestId: string): Promise<void> {
  await app.sql('alter table basalt.administrators rename to hidden')
  await app.request('POST', '/api/admin/auth', {
    body: { password: 'never-to-be-seen' },
    headers: { 'x-request-id': requestId },
  })
  await app.sql('alter table basalt.hidden rename to administrators')
}

describe('logs › drains', () => {
  test('send entries as JSON and by OTLP, with the configured headers and without secrets', async () => {
    await using json = await startReceiver()
    await using otlp = await startReceiver()
    const drains = {
      central: { type: 'http', url: json.url, headers: { 'x-api-key': 'k1' } },
      collector: { type: 'otlp', url: otlp.url },
    }
    await using app = await createTestApp({ config: { 'logging.drains': JSON.stringify(drains) } })
    await fail(app, 'request-of-drains')
    const entry = await waitFor('the entry', () =>
      json.received.flatMap((each) => each.json).find(({ requestId }) => requestId === 'request-of-drains'),
    )
    expect(entry).toMatchObject({
      time: expect.stringMatching(/Z$/),
      level: 'error',
      message: 'request failed',
      attrs: { operation: 'admin.signIn' },
      node: expect.any(String),
    })
    expect(json.received[0]?.headers['x-api-key']).toBe('k1')
    const record = await waitFor('the record', () =>
      otlp.received
        .flatMap((each) => each.json.resourceLogs[0].scopeLogs[0].logRecords)
        .find(({ body }) => body.stringValue === 'request failed'),
    )
    expect(record).toMatchObject({ severityNumber: 17, severityText: 'ERROR' })
    expect(record.timeUnixNano).toMatch(/^\d{19}$/)
    expect(record.attributes).toContainEqual({
      key: 'request.id',
      value: { stringValue: 'request-of-drains' },
    })
    for (const { raw } of [...json.received, ...otlp.received])
      expect(raw.toString()).not.toContain('never-to-be-seen')
  })

  test('retry while the receiver fails, and count rejected entries', async () => {
    await using receiver = await startReceiver(answer(503))
    const drains = JSON.stringify({ central: { type: 'http', url: receiver.url } })
    await using app = await createTestApp({ config: { 'logging.drains': drains } })
    await fail(app, 'request-to-be-sent-again')
    await waitFor('two attempts', () => receiver.received.length >= 2)
    expect(app.log.filter((line) => line.includes('failed to send the log'))).toHaveLength(1)
    receiver.respond = answer(400)
    const refused = async () =>
      /basalt_dropped_entries_total\{queue="drain central"\} [1-9]/.test(
        (await app.request('GET', '/metrics')).text,
      )
    await waitFor('the count', refused)
  })
})
