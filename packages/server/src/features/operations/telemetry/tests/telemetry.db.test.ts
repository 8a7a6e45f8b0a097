import { describe, expect, test } from 'vitest'
import { alice, notes } from '../../../../../test/fixtures.ts'
import { type Receiver, startReceiver } from '../../../../../test/receiver.ts'
import { createTestApp, userToken } from '../../../../../test/test-app.ts'
import { waitFor } from '../../../../../test/wait-for.ts'
import type { OtlpSpan } from '../tracer.ts'

function spansIn({ received }: Receiver): OtlpSpan[] {
  return received.flatMap(({ json }) => json.resourceSpans[0].scopeSpans[0].spans)
}

function attribute(span: OtlpSpan | undefined, key: string): unknown {
  const found = span?.attributes.find((each) => each.key === key)
  return found === undefined ? undefined : Object.values(found.value)[0]
}

const traceId = '0af7651916cd43dd8448eb211c80319c'
const parent = 'b7ad6b7169203331'

describe('telemetry', () => {
  test("adds a request and its statements to the client's trace", async () => {
    await using collector = await startReceiver()
    const config = {
      'telemetry.otlp_endpoint': collector.url.replace('/hook', '/'),
      'telemetry.otlp_headers': 'authorization=Bearer abc',
      'telemetry.service_name': 'shop',
    }
    await using app = await createTestApp({ setup: notes, config })
    const token = userToken({ sub: alice })
    const headers = {
      traceparent: `00-${traceId}-${parent}-01`,
      tracestate: 'congo=t61rcWkgMzE , acme@vendor=a b',
      'x-request-id': 'traced-request',
    }
    const made = await app.request('POST', '/api/collections/note?_=s3cret', {
      token,
      headers,
      body: { body: 'hidden-value' },
    })
    expect(made.status).toBe(201)
    const spans = await waitFor('the spans', () => {
      const own = spansIn(collector).filter((span) => span.traceId === traceId)
      return own.length >= 2 && own
    })
    expect(collector.received[0]).toMatchObject({
      path: '/v1/traces',
      headers: { authorization: 'Bearer abc' },
    })
    expect(collector.received[0]?.json.resourceSpans[0].resource.attributes).toContainEqual({
      key: 'service.name',
      value: { stringValue: 'shop' },
    })
    const server = spans.find(({ kind }) => kind === 2)
    expect(server).toMatchObject({ parentSpanId: parent, name: 'POST /api/collections/:table', status: {} })
    expect(new Set(spans.map(({ traceState }) => traceState))).toEqual(
      new Set(['congo=t61rcWkgMzE,acme@vendor=a b']),
    )
    expect(attribute(server, 'http.response.status_code')).toBe('201')
    expect(attribute(server, 'basalt.request_id')).toBe('traced-request')
    const statement = spans.find(({ kind }) => kind === 3)
    expect(statement).toMatchObject({ parentSpanId: server?.spanId })
    expect(attribute(statement, 'db.query.text')).toContain('"note"')
    expect(BigInt(statement?.endTimeUnixNano ?? 0)).toBeGreaterThanOrEqual(
      BigInt(statement?.startTimeUnixNano ?? 0),
    )
    const raw = collector.received.map((each) => each.raw.toString()).join('')
    expect(raw).not.toMatch(/hidden-value|s3cret/)
    expect(raw).not.toContain(token)
  })

  test('excludes background writes from the traces of requests', async () => {
    await using collector = await startReceiver()
    await using app = await createTestApp({ config: { 'telemetry.otlp_endpoint': collector.url } })
    // There are more requests than one write stores.
    const responses = await Promise.all(
      Array.from({ length: 300 }, () => app.request('GET', '/api/nothing-here')),
    )
    const stored = () => app.sql('select from basalt.requests')
    await waitFor('the requests', async () => (await stored()).length === responses.length)
    await waitFor(
      'the spans',
      () => spansIn(collector).filter(({ kind }) => kind === 2).length === responses.length,
    )
    const statements = spansIn(collector).filter(({ kind }) => kind === 3)
    expect(statements.map((span) => attribute(span, 'db.query.text'))).toEqual([])
  })

  test('omits a trace that the client does not sample, and everything at 0 percent', async () => {
    await using collector = await startReceiver()
    const config = { 'telemetry.otlp_endpoint': collector.url, 'telemetry.sample_percent': '0' }
    await using app = await createTestApp({ config })
    const send = (headers = {}) => app.request('GET', '/health', { headers })
    await send()
    await send({ traceparent: `00-${traceId}-${parent}-00` })
    const invalid = 'UPPER=1,a=b'
    await send({ traceparent: `00-${traceId}-${parent}-01`, tracestate: invalid })
    await send({ traceparent: 'garbage' })
    await waitFor('the spans', () => spansIn(collector).length > 0)
    const requests = spansIn(collector).filter(({ kind }) => kind === 2)
    expect(requests).toHaveLength(1)
    expect(requests[0]).not.toHaveProperty('traceState')
  })
})
