import { buffer } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import { AwsV4Signer } from 'aws4fetch'
import type { Clock } from '../../../../../lib/clock.ts'
import { type RetryPolicy, secondsBeforeRetry } from '../../../../../lib/retry-policy.ts'
import { StoreFailed } from '../store.ts'
import { untilIdle } from './until-idle.ts'
import { textOf } from './xml.ts'

/** A bucket of a service that speaks the protocol of Amazon S3. */
export interface S3Bucket {
  /** Address of the service, without a path. */
  readonly endpoint: string
  readonly name: string
  readonly region: string
  readonly accessKey: string
  readonly secretKey: string
}

export interface S3Request {
  readonly method: 'GET' | 'PUT' | 'POST' | 'DELETE'
  /** The name of the object; the bucket itself without one. */
  readonly name?: string
  readonly query?: Readonly<Record<string, string>>
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Buffer | string
  /** True if the caller reads the response body. Otherwise the body is read before the request counts as complete. */
  readonly isStreamed?: boolean
}

/** Permanent refusal by the service, with the status and the error code of its response (Amazon S3, List of error codes). */
export class S3Refusal extends Error {
  override readonly name = 'S3Refusal'
  readonly status: number
  readonly code: string

  constructor({ method }: S3Request, status: number, code: string) {
    super(`S3 answered ${method} with ${status} ${code}`.trimEnd())
    this.status = status
    this.code = code
  }

  /** True if the object or the upload is missing, although the bucket exists. */
  get isMissing(): boolean {
    return this.status === 404 && this.code !== 'NoSuchBucket'
  }
}

export type SendToS3 = (request: S3Request) => Promise<Response>

const policy: RetryPolicy = { attempts: 4, delay: 0.2, delayMax: 2, backoff: 2 }
/** Milliseconds that the service has for the response headers, and for each mebibyte sent. */
const timeoutMs = 30_000
/** Maximum bytes read of an error response. */
const errorLimit = 64 * 1024

/**
 * Sends requests that may be repeated, each signed with a checksum of its body (AWS Signature Version 4). The name of the
 * bucket is part of the path, which every service understands.
 *
 * @throws S3Refusal, and StoreFailed when the service cannot be reached or fails again and again
 */
export function createS3Sender(bucket: S3Bucket, clock: Clock): SendToS3 {
  async function sendOnce(request: S3Request): Promise<Response> {
    const { url, headers, body } = await sign(bucket, request, clock.now())
    const late = new AbortController()
    const sentBytes = request.body === undefined ? 0 : Buffer.byteLength(request.body)
    const timer = setTimeout(() => late.abort(), timeoutMs * (1 + sentBytes / 1024 / 1024))
    try {
      return await fetch(url, {
        method: request.method,
        headers,
        body: body ?? null,
        redirect: 'manual',
        signal: late.signal,
      })
    } finally {
      clearTimeout(timer)
    }
  }

  return async function send(request) {
    for (let attempt = 1; ; attempt++) {
      const outcome = await sendOnce(request)
        .then((response) => readOutcome(request, response))
        .catch((error: unknown) => unavailable(causeOf(error)))
      if (outcome instanceof Response) return outcome
      const seconds = isPassing(outcome) ? secondsBeforeRetry(policy, attempt) : undefined
      if (seconds === undefined) throw outcome
      await pause(seconds * 1000 * (0.5 + Math.random() / 2))
    }
  }
}

async function sign(bucket: S3Bucket, request: S3Request, now: Date) {
  const { method, name, query = {}, headers = {}, body } = request
  const url = new URL(`/${bucket.name}${name === undefined ? '' : `/${name}`}`, bucket.endpoint)
  for (const [key, value] of Object.entries(query)) url.searchParams.set(key, value)
  return await new AwsV4Signer({
    method,
    url: url.href,
    headers: { ...headers, 'x-amz-content-sha256': await sha256(body ?? '') },
    ...(body === undefined ? {} : { body: typeof body === 'string' ? body : new Uint8Array(body) }),
    accessKeyId: bucket.accessKey,
    secretAccessKey: bucket.secretKey,
    region: bucket.region,
    service: 's3',
    datetime: now.toISOString().replace(/[:-]|\.\d{3}/g, ''),
  }).sign()
}

/** Computes a checksum away from the main thread, which serves other requests meanwhile. */
async function sha256(body: Buffer | string): Promise<string> {
  const bytes = typeof body === 'string' ? Buffer.from(body) : new Uint8Array(body)
  return Buffer.from(await crypto.subtle.digest('SHA-256', bytes)).toString('hex')
}

async function readOutcome(
  request: S3Request,
  response: Response,
): Promise<Response | S3Refusal | StoreFailed> {
  const { status, headers } = response
  if (response.ok) {
    if (request.isStreamed || response.body === null) return response
    return new Response(await buffer(untilIdle(response.body)), { status, headers })
  }
  const code = textOf(await readBeginning(response), 'Code')?.slice(0, 60) ?? ''
  const refusal = new S3Refusal(request, status, code)
  if (status === 507 || code === 'QuotaExceeded' || code === 'XMinioStorageFull') {
    return new StoreFailed('full', refusal)
  }
  if (status >= 500 || status === 429 || status === 408 || passingCodes.has(code)) return unavailable(refusal)
  return refusal
}

const passingCodes: ReadonlySet<string> = new Set(['RequestTimeout', 'SlowDown', 'OperationAborted'])

function isPassing(failure: S3Refusal | StoreFailed): boolean {
  return failure instanceof StoreFailed && failure.reason === 'unavailable'
}

/** Returns the cause that `fetch` hides behind "fetch failed" when no response arrives. */
function causeOf(error: unknown): unknown {
  return error instanceof TypeError ? (error.cause ?? error) : error
}

function unavailable(cause: unknown): StoreFailed {
  return new StoreFailed('unavailable', cause)
}

async function readBeginning({ body }: Response): Promise<string> {
  if (body === null) return ''
  const chunks: Uint8Array[] = []
  let size = 0
  try {
    for await (const chunk of untilIdle(body)) {
      chunks.push(chunk)
      size += chunk.byteLength
      if (size >= errorLimit) break
    }
  } catch {
    // The bytes received so far are enough.
  }
  return Buffer.concat(chunks).toString()
}
