import { BasaltError } from './errors.ts'
import { parseExact } from './exact-json.ts'

/** @internal The JSON of an answer; undefined where its status says that it has none. */
export async function readAnswer(response: Response): Promise<unknown> {
  const text = await response.text()
  try {
    return response.status === 204 ? undefined : parseExact(text)
  } catch (cause) {
    const detail = { error: 'invalid_response', status: response.status, requestId: idOf(response), cause }
    throw new BasaltError('the answer is not JSON', detail)
  }
}

/** @internal A list of an answer; at a wrong address something else may answer JSON. @throws BasaltError */
export function readList<Item>(list: unknown): Item[] {
  if (Array.isArray(list)) return list
  throw notTheAnswer('list')
}

/** @internal @param missing what the answer to this request would have */
export function notTheAnswer(missing: string): BasaltError {
  return new BasaltError(`the answer has no ${missing}`, { error: 'invalid_response', status: 200 })
}

/** An answer that is an error. @param text its body */
export function readError(response: Response, text: string): BasaltError {
  const { status, headers, type } = response
  // Browsers do not say where to.
  if (type === 'opaqueredirect' || (status >= 300 && status < 400 && headers.has('location'))) {
    const message = `the server redirects to ${headers.get('location') ?? 'another address'}: take that as url`
    return new BasaltError(message, { error: 'invalid_response', status, requestId: idOf(response) })
  }
  const { message, error, data, operation } = readEnvelope(text)
  return new BasaltError(message ?? `the server answered ${status}`, {
    error: error ?? `http_${status}`,
    status,
    requestId: idOf(response),
    data,
    operation,
    retryAfterSeconds: readRetryAfter(headers.get('retry-after') ?? '', headers.get('date') ?? ''),
  })
}

/** Seconds, or a date, which proxies send (RFC 9110, section 10.2.3). @param date by the clock of the server, where it is shown */
function readRetryAfter(text: string, date: string): number | undefined {
  const now = Date.parse(date) || Date.now()
  const seconds = /^\d/.test(text) ? Number(text) : (Date.parse(text) - now) / 1000
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds)
}

/** Of what stands between, a proxy's page for instance, nothing. */
function readEnvelope(text: string): {
  message?: string | undefined
  error?: string | undefined
  data?: Record<string, unknown>
  operation?: { index: number; method: string }
} {
  try {
    const body = (parseExact(text) ?? {}) as Record<string, unknown>
    const { error, message } = body
    // An object there is of another envelope.
    if (typeof error === 'object') return {}
    return { ...body, error: textOf(error), message: textOf(message) }
  } catch {
    return {}
  }
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : undefined)

const idOf = ({ headers }: Response) => headers.get('x-request-id') ?? undefined
