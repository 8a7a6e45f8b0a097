import type { Outbound } from '../../../http/outbound.ts'
import { JobRefused, type JobType } from '../../../job-queue.ts'

/** Secrets of the operator, by name. */
export interface OperatorSecrets {
  all(): ReadonlyMap<string, string>
}

export interface HttpRequestDeps {
  readonly outbound: Outbound
  readonly secrets: OperatorSecrets
}

const methods = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE']
const defaultTimeoutSeconds = 30
const maxTimeoutSeconds = 300
const longestUrl = 2000
const longestHeader = 4000
const headerLimit = 50
/** Maximum number of bytes of the response that are read. Nothing of it is kept but the status. */
const replyLimit = 16_384

/** Pattern of a header's name (RFC 9110, token). */
const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}$/
/** Pattern of a header's value: visible characters, and spaces between them. */
const headerValue = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/
/** Headers of the connection, which the server sets. */
const reservedHeaders = ['host', 'content-length', 'connection', 'transfer-encoding', 'idempotency-key']
/** Pattern of a secret in a header, such as `Bearer {{CRON_TOKEN}}`. */
const reference = /\{\{(\w+)\}\}/g

interface Payload {
  readonly url: string
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: unknown
  readonly timeout_seconds?: number
}

/** Creates the job that sends a request to an address of the operator. */
export function httpRequestJob({ outbound, secrets }: HttpRequestDeps): JobType<Payload> {
  return {
    name: 'http_request',
    isForOwners: true,
    retry: { attempts: 5, delay: 10, delayMax: 600, backoff: 3 },
    timeout: maxTimeoutSeconds + 30,
    findProblem(payload) {
      const { method = 'POST', headers = {}, timeout_seconds: seconds = defaultTimeoutSeconds } = payload
      const known = secrets.all()
      return (
        findUrlProblem(payload.url, outbound) ??
        (methods.includes(method as string) ? undefined : `method must be one of: ${methods.join(', ')}`) ??
        findHeaderProblem(headers, known) ??
        (method === 'GET' && payload.body !== undefined ? 'body: a GET has none' : undefined) ??
        (isTimeout(seconds) ? undefined : `timeout_seconds must be an integer from 1 to ${maxTimeoutSeconds}`)
      )
    },
    async handle(payload, { id, signal, report }) {
      const { url, method = 'POST', body, timeout_seconds: seconds = defaultTimeoutSeconds } = payload
      const { status, error } = await outbound.post({
        url,
        method,
        headers: {
          'user-agent': 'Basalt',
          ...(body === undefined ? {} : { 'content-type': 'application/json' }),
          ...fillIn(payload.headers ?? {}, secrets.all()),
          // The receiver recognizes a repeated attempt.
          'idempotency-key': id,
        },
        body: body === undefined ? '' : JSON.stringify(body),
        timeoutMs: seconds * 1000,
        replyLimit,
        signal,
      })
      if (status !== undefined) report({ status })
      if (error !== undefined) throw new Error(error)
      if (status === undefined || status < 200 || status > 299) throw refusal(status ?? 0)
    },
  }
}

function findUrlProblem(url: unknown, outbound: Outbound): string | undefined {
  const parsed = typeof url === 'string' && url.length <= longestUrl ? URL.parse(url) : null
  if (parsed === null || !/^https?:$/.test(parsed.protocol) || parsed.username + parsed.password !== '')
    return `url must be an http or https URL of at most ${longestUrl} characters without a password`
  return outbound.refuses(parsed.href)
    ? 'url: the address is not one that requests may be sent to'
    : undefined
}

function findHeaderProblem(headers: unknown, secrets: ReadonlyMap<string, string>): string | undefined {
  if (typeof headers !== 'object' || headers === null || Array.isArray(headers))
    return 'headers must be an object of texts'
  const entries = Object.entries(headers)
  if (entries.length > headerLimit) return `headers must be at most ${headerLimit}`
  for (const [name, value] of entries) {
    if (!headerName.test(name) || reservedHeaders.includes(name.toLowerCase()))
      return 'headers: expected names of headers that the server does not set'
    if (typeof value !== 'string' || value.length > longestHeader || !headerValue.test(value))
      return `headers.${name} must be a text of printable ASCII of at most ${longestHeader} characters`
    const missing = [...value.matchAll(reference)].find(([, secret = '']) => !secrets.has(secret))
    if (missing !== undefined) return `headers.${name}: there is no secret ${missing[1]}`
  }
  return undefined
}

function isTimeout(seconds: unknown): boolean {
  return Number.isInteger(seconds) && Number(seconds) >= 1 && Number(seconds) <= maxTimeoutSeconds
}

/** Replaces references by secrets. @throws Error without any value; JobRefused for a secret that fits in no header */
function fillIn(
  headers: Readonly<Record<string, string>>,
  secrets: ReadonlyMap<string, string>,
): Record<string, string> {
  const fill = (name: string, value: string) => {
    const filled = value.replace(reference, (_, secret: string) => {
      const found = secrets.get(secret)
      // This node may not have it yet, or not the key that opens it.
      if (found === undefined) throw new Error(`headers.${name}: there is no secret ${secret}`)
      return found
    })
    if (!headerValue.test(filled))
      throw new JobRefused(`headers.${name}: the secret cannot be part of a header`)
    return filled
  }
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, fill(name, value)]))
}

/** Returns the error of a response. A client error other than 408 and 429 is the same at every attempt. */
function refusal(status: number): Error {
  const isFinal = status < 500 && status !== 408 && status !== 429
  return new (isFinal ? JobRefused : Error)(`the response was ${status}`)
}
