import { BasaltError } from './errors.ts'
import { parseExact } from './exact-json.ts'

/**
 * @internal Returns the parsed JSON body of a response, or undefined for status 204.
 * @throws BasaltError `invalid_response` if the body is not JSON
 */
export async function readJson(response: Response): Promise<unknown> {
  const text = await response.text()
  try {
    return response.status === 204 ? undefined : parseExact(text)
  } catch (cause) {
    const detail = { error: 'invalid_response', status: response.status, requestId: idOf(response), cause }
    throw new BasaltError('the response is not JSON', detail)
  }
}

/**
 * @internal Checks that part of a response is a list. A wrong URL may lead to another server that returns JSON, too.
 * @throws BasaltError `invalid_response`
 */
export function readList<Item>(list: unknown): Item[] {
  if (Array.isArray(list)) return list
  throw invalidResponse('list')
}

/**
 * @internal Creates the error for a response without an expected member.
 * @param missing name of the member
 */
export function invalidResponse(missing: string): BasaltError {
  return new BasaltError(`the response has no ${missing}`, { error: 'invalid_response', status: 200 })
}

/**
 * Creates the error for a response whose status is not 2xx.
 * @param text response body
 */
export function readError(response: Response, text: string): BasaltError {
  const { status, headers, type } = response
  // Browsers hide the redirect target.
  if (type === 'opaqueredirect' || (status >= 300 && status < 400 && headers.has('location'))) {
    const message = `the server redirects to ${headers.get('location') ?? 'another address'}: use that as url`
    return new BasaltError(message, { error: 'invalid_response', status, requestId: idOf(response) })
  }
  const { message, error, data, operation } = readEnvelope(text)
  return new BasaltError(message ?? `the server returned ${status}`, {
    error: error ?? `http_${status}`,
    status,
    requestId: idOf(response),
    data,
    operation,
    retryAfterSeconds: readRetryAfter(headers.get('retry-after') ?? '', headers.get('date') ?? ''),
  })
}

/**
 * Parses a `Retry-After` header into seconds. Proxies also send dates there (RFC 9110, section 10.2.3).
 * @param date `Date` header, so that a wrong clock of the device does not matter
 */
function readRetryAfter(text: string, date: string): number | undefined {
  const now = Date.parse(date) || Date.now()
  const seconds = /^\d/.test(text) ? Number(text) : (Date.parse(text) - now) / 1000
  return Number.isNaN(seconds) ? undefined : Math.max(0, seconds)
}

/** Parses an error body. Returns an empty object for other bodies, such as the HTML page of a proxy. */
function readEnvelope(text: string): {
  message?: string | undefined
  error?: string | undefined
  data?: Record<string, unknown>
  operation?: { index: number; method: string }
} {
  try {
    const body = (parseExact(text) ?? {}) as Record<string, unknown>
    const { error, message } = body
    // The body belongs to another error format if `error` is an object.
    if (typeof error === 'object') return {}
    return { ...body, error: textOf(error), message: textOf(message) }
  } catch {
    return {}
  }
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : undefined)

const idOf = ({ headers }: Response) => headers.get('x-request-id') ?? undefined
