import { BasaltError, type GraphqlError } from './errors.ts'
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
  return createError(response, readEnvelope(text))
}

/** Members of an error body. */
interface Envelope {
  readonly message?: string | undefined
  readonly error?: string | undefined
  readonly data?: Readonly<Record<string, unknown>> | undefined
  readonly operation?: { readonly index: number; readonly method: string }
  readonly errors?: readonly GraphqlError[] | undefined
}

/** Creates the error of a response. */
function createError(response: Response, { message, error, data, operation, errors }: Envelope): BasaltError {
  const { status, headers } = response
  return new BasaltError(messageOf(status, message, error), {
    error: error ?? `http_${status}`,
    status,
    requestId: idOf(response),
    data,
    operation,
    errors,
    retryAfterSeconds: readRetryAfter(headers.get('retry-after') ?? '', headers.get('date') ?? ''),
  })
}

/** Returns the message of an error. Applications show it to users, who can do nothing about a restart but try again. */
function messageOf(status: number, message: string | undefined, slug: string | undefined): string {
  if (slug === 'shutting_down') return 'the server is restarting; try again in a moment'
  if (message !== undefined) return message
  // A proxy responds for a server that is unavailable.
  return [502, 503, 504].includes(status)
    ? 'the server is restarting or unavailable; try again in a moment'
    : `the server returned ${status}`
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
function readEnvelope(text: string): Envelope {
  try {
    const body = (parseExact(text) ?? {}) as Record<string, unknown>
    const { error, message, errors } = body
    if (isErrors(errors)) return describeErrors(errors)
    // The body belongs to another error format if `error` is an object.
    if (typeof error === 'object') return {}
    return { ...body, error: textOf(error), message: textOf(message), errors: undefined }
  } catch {
    return {}
  }
}

const isErrors = (errors: unknown): errors is readonly GraphqlError[] =>
  Array.isArray(errors) && errors.length > 0 && errors.every((each) => typeof each?.message === 'string')

/** Describes the errors of a GraphQL response by the first of them. */
function describeErrors(errors: readonly GraphqlError[]): Envelope {
  const [{ message, extensions } = { message: undefined }] = errors
  const { code, data } = extensions ?? {}
  return { message, error: textOf(code), data: data as Envelope['data'], errors }
}

/**
 * @internal Returns the data of a GraphQL response.
 * @throws BasaltError with its errors, or `invalid_response` if it has neither
 */
export async function readGraphql(response: Response): Promise<unknown> {
  const { data, errors } = ((await readJson(response)) ?? {}) as { data?: unknown; errors?: unknown }
  if (isErrors(errors)) throw createError(response, describeErrors(errors))
  if (data === undefined || data === null) throw invalidResponse('data')
  return data
}

const textOf = (value: unknown) => (typeof value === 'string' ? value : undefined)

const idOf = ({ headers }: Response) => headers.get('x-request-id') ?? undefined
