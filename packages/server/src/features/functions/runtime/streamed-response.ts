import type { FastifyReply, FastifyRequest } from 'fastify'
import { noteStream } from '../../../http/observation/request-observer.ts'
import type { Content } from '../../../http/operation.ts'
import { varyBy } from '../../../http/responses/entity-tag.ts'
import type { HeadMessage } from './messages.ts'
import type { ResponseBody } from './response-body.ts'

/** Maximum size of the headers of a function's response in characters, together. */
const headersLimit = 16_384

/** Headers of the connection, of the policies of the server, and cookies, which functions do not get either. */
const ownHeaders: ReadonlySet<string> = new Set([
  'connection',
  'keep-alive',
  'proxy-authenticate',
  'proxy-connection',
  'set-cookie',
  'te',
  'trailer',
  'transfer-encoding',
  'upgrade',
  'x-request-id',
])

/** Head of a response that a function has made itself. */
export interface ResponseHead {
  readonly status: number
  readonly headers: readonly (readonly [name: string, value: string])[]
  /** Number of bytes of the body, if the head has it. */
  readonly length: number | undefined
}

/** Response of a function with a status, headers and a body of its own. Its transaction has ended. */
export class StreamedResponse {
  readonly head: ResponseHead
  /** Body; undefined for none. */
  readonly body: ResponseBody | undefined

  constructor(head: ResponseHead, body: ResponseBody | undefined) {
    this.head = head
    this.body = body
  }
}

/** Reads the head of a response. @throws Error if it cannot be sent */
export function readHead({ status, headers }: HeadMessage): ResponseHead {
  if (status < 200 || status > 599)
    throw new Error(`the status of a response is ${status}; expected 200 to 599`)
  const size = headers.reduce((sum, [name, value]) => sum + name.length + value.length, 0)
  if (size > headersLimit)
    throw new Error(`the headers of a response have ${size} characters; the limit is ${headersLimit}`)
  const kept: [string, string][] = []
  for (const [given, value] of headers) {
    const name = given.toLowerCase()
    // RFC 9110 §5.5
    if (!/^[!#$%&'*+.^_`|~\w-]+$/.test(name) || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value))
      throw new Error(`the header ${JSON.stringify(given.slice(0, 100))} of a response is malformed`)
    if (!ownHeaders.has(name) && !name.startsWith('access-control-')) kept.push([name, value])
  }
  const length = kept.find(([name]) => name === 'content-length')?.[1]
  if (length !== undefined && !/^\d{1,15}$/.test(length))
    throw new Error('the Content-Length of a response is malformed')
  return { status, headers: kept, length: length === undefined ? undefined : Number(length) }
}

/** Sets the head of the reply, and returns its body. */
export function sendStreamed(
  { head, body }: StreamedResponse,
  { method }: FastifyRequest,
  reply: FastifyReply,
): Content | undefined {
  void reply.code(head.status).header('cache-control', 'no-store')
  if (body === undefined) void reply.removeHeader('content-type')
  else void reply.header('content-type', 'application/octet-stream')
  for (const [name, value] of head.headers) {
    if (name === 'vary') varyBy(reply, value)
    else void reply.header(name, value)
  }
  if (String(reply.getHeader('content-type')).startsWith('text/event-stream')) {
    // Proxies that cache, compress or buffer a response would hold its events back.
    void reply.header('cache-control', 'no-store, no-transform').header('x-accel-buffering', 'no')
  }
  if (body === undefined) {
    void reply.send()
    return undefined
  }
  if (method === 'HEAD') return body.destroy()
  noteStream(reply, reply.raw)
  // The head shows a client of events that it is connected, long before the first event.
  body.once('begin', () => reply.raw.flushHeaders())
  return body
}
