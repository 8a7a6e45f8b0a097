import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { answer, type Receiver, startReceiver } from '../../../../../test/receiver.ts'
import { createTestApp, envelope, type TestApp } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'

let app: TestApp
let receiver: Receiver
const secret = 'cron-token-5ecret'

beforeAll(async () => {
  app = await createTestApp({
    resolve: async (name) => [
      { address: name === 'inside.example' ? '169.254.169.254' : '127.0.0.1', family: 4 },
    ],
  })
  receiver = await startReceiver()
  await setSecret('CRON_TOKEN', secret)
})
afterAll(async () => {
  await receiver[Symbol.asyncDispose]()
  await app[Symbol.asyncDispose]()
})
beforeEach(() => {
  receiver.received.length = 0
  receiver.respond = answer(204)
})

async function post(path: string, body: object) {
  return await app.request('POST', `/api/admin/${path}`, { token: await app.adminToken(), body })
}

async function setSecret(name: string, value: string): Promise<void> {
  const token = await app.adminToken()
  const { status } = await app.request('PUT', `/api/admin/secrets/${name}`, { token, body: { value } })
  expect(status).toBe(200)
}

async function send(payload: object, maxAttempts = 1): Promise<string> {
  const { status, json } = await post('jobs', { type: 'http_request', payload, maxAttempts })
  expect([status, json]).toEqual([201, expect.anything()])
  return json.id
}

/** Waits for the end of a job. Returns its state, error and runs. */
async function endOf(id: string) {
  const token = await app.adminToken()
  const job = await waitFor(`job ${id} to end`, async () => {
    const { json } = await app.request('GET', `/api/admin/jobs/${id}`, { token })
    return ['completed', 'failed'].includes(json.state) && json
  })
  const { json } = await app.request('GET', `/api/admin/jobs/${id}/runs`, { token })
  const runs = json.items.map(({ status, error, result }: Record<string, unknown>) => ({
    status,
    error,
    result,
  }))
  return { state: job.state, lastError: job.lastError, runs }
}

describe('http_request', () => {
  test('sends a body and a secret header by schedule, and records the status', async () => {
    const { json: schedule } = await post('schedules', {
      name: 'ping',
      jobType: 'http_request',
      cronExpr: '0 0 1 1 *',
      payload: {
        url: receiver.url,
        headers: { Authorization: 'Bearer {{CRON_TOKEN}}', 'X-Plain': 'plain' },
        body: { hello: 'wörld' },
      },
    })
    await app.sql(`update basalt.schedules set next_run_at = now() - interval '1 min' where id = $1`, [
      schedule.id,
    ])
    const [job] = await waitFor('the schedule to run', async () => {
      const jobs = await app.sql('select id from basalt.jobs where schedule_id = $1', [schedule.id])
      return jobs.length > 0 && jobs
    })
    const id = String(job?.id)
    expect(await endOf(id)).toEqual({
      state: 'completed',
      lastError: '',
      runs: [{ status: 'completed', result: { status: 204 } }],
    })
    expect(receiver.received).toMatchObject([
      {
        method: 'POST',
        json: { hello: 'wörld' },
        headers: {
          authorization: `Bearer ${secret}`,
          'x-plain': 'plain',
          'content-type': 'application/json',
          'idempotency-key': id,
        },
      },
    ])
    const stored = JSON.stringify(await app.sql('select payload, runs from basalt.jobs'))
    expect(stored + app.log.join('\n')).not.toContain(secret)
  })

  test('retries a 503 with the same key, and sends the secret that is set by then', async () => {
    receiver.respond = answer(503, {}, `no: ${secret}`)
    const id = await send(
      { url: receiver.url, method: 'PUT', headers: { 'X-Key': '{{CRON_TOKEN}}' }, body: 1 },
      2,
    )
    await waitFor('the first attempt', () => receiver.received.length === 1)
    await setSecret('CRON_TOKEN', 'another-5ecret')
    receiver.respond = answer(200)
    await waitFor('the failure to be recorded', async () => {
      const rows = await app.sql(`select from basalt.jobs where id = $1 and state = 'queued'`, [id])
      return rows.length === 1
    })
    await app.sql('update basalt.jobs set run_at = now() where id = $1', [id])
    const { state, runs } = await endOf(id)
    expect([state, runs]).toEqual([
      'completed',
      [
        { status: 'completed', result: { status: 200 } },
        { status: 'failed', error: 'the response was 503', result: { status: 503 } },
      ],
    ])
    expect(receiver.received.map(({ headers }) => [headers['x-key'], headers['idempotency-key']])).toEqual([
      [secret, id],
      ['another-5ecret', id],
    ])
  })

  test.each([301, 404])('does not retry a %i', async (status) => {
    receiver.respond = answer(status, { location: 'http://127.0.0.1:1/' })
    expect(await endOf(await send({ url: receiver.url, body: {} }, 5))).toEqual({
      state: 'failed',
      lastError: `the response was ${status}`,
      runs: [{ status: 'failed', error: `the response was ${status}`, result: { status } }],
    })
  })

  test('fails at its timeout', async () => {
    receiver.respond = () => undefined
    const { lastError } = await endOf(await send({ url: receiver.url, body: {}, timeout_seconds: 1 }))
    expect(lastError).toBe('no complete answer within 1 s')
  })

  test('does not connect to a name that resolves to an address of the network', async () => {
    const { lastError } = await endOf(await send({ url: 'http://inside.example/', body: {} }))
    expect(lastError).toBe('the address is not one that requests may be sent to')
  })

  test('retries while its secret is missing, and fails if it fits in no header', async () => {
    await setSecret('GONE', 'for-a-while')
    await setSecret('LINES', 'two\r\nInjected: lines')
    const token = await app.adminToken()
    const due = new Date(Date.now() + 3_600_000).toISOString()
    const payload = { url: receiver.url, headers: { 'X-A': '{{GONE}}' }, body: {} }
    const { json } = await post('jobs', { type: 'http_request', payload, runAt: due })
    await app.request('DELETE', '/api/admin/secrets/GONE', { token })
    await app.sql('update basalt.jobs set run_at = now() where id = $1', [json.id])
    await waitFor('the first attempt', async () => {
      const [job] = await app.sql('select state, last_error from basalt.jobs where id = $1', [json.id])
      return job?.state === 'queued' && job.last_error === 'headers.X-A: there is no secret GONE'
    })
    await setSecret('GONE', 'here-again')
    await app.sql('update basalt.jobs set run_at = now() where id = $1', [json.id])
    expect((await endOf(json.id)).state).toBe('completed')
    expect(receiver.received.map(({ headers }) => headers['x-a'])).toEqual(['here-again'])
    receiver.received.length = 0
    const { lastError } = await endOf(
      await send({ url: receiver.url, headers: { 'X-A': '{{LINES}}' }, body: {} }, 5),
    )
    expect(lastError).toBe('headers.X-A: the secret cannot be part of a header')
    expect(receiver.received).toEqual([])
  })

  test.each([
    [{}, 'url must be an http or https URL of at most 2000 characters without a password'],
    [
      { url: 'ftp://x.example' },
      'url must be an http or https URL of at most 2000 characters without a password',
    ],
    [
      { url: 'http://a:b@x.example' },
      'url must be an http or https URL of at most 2000 characters without a password',
    ],
    [
      { url: `http://x.example/${'x'.repeat(2000)}` },
      'url must be an http or https URL of at most 2000 characters without a password',
    ],
    [{ url: 'http://169.254.169.254/latest' }, 'url: the address is not one that requests may be sent to'],
    [{ method: 'CONNECT' }, 'method must be one of: GET, POST, PUT, PATCH, DELETE'],
    [{ method: 'GET', body: {} }, 'body: a GET has none'],
    [{ headers: [] }, 'headers must be an object of texts'],
    [{ headers: { Host: 'other' } }, 'headers: expected names of headers that the server does not set'],
    [{ headers: { 'A B': 'x' } }, 'headers: expected names of headers that the server does not set'],
    [
      { headers: { A: 'x\r\nB: y' } },
      'headers.A must be a text of printable ASCII of at most 4000 characters',
    ],
    [{ headers: { A: 1 } }, 'headers.A must be a text of printable ASCII of at most 4000 characters'],
    [{ headers: { A: '{{NONE}}' } }, 'headers.A: there is no secret NONE'],
    [{ timeout_seconds: 301 }, 'timeout_seconds must be an integer from 1 to 300'],
    [{ timeout_seconds: 0.5 }, 'timeout_seconds must be an integer from 1 to 300'],
  ])('is refused with %j', async (more, problem) => {
    const payload = Object.keys(more).length === 0 ? {} : { url: receiver.url, ...more }
    expect(envelope(await post('jobs', { type: 'http_request', payload }))).toEqual({
      code: 400,
      error: 'invalid_job_payload',
      message: `invalid payload: ${problem}`,
    })
  })

  test('cannot be added by SQL, because it could send secrets anywhere', async () => {
    await expect(
      app.sql(`select basalt.enqueue('http_request', '{"url": "http://x.example"}')`),
    ).rejects.toThrow('unknown job type "http_request"')
  })
})
