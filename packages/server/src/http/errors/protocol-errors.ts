import { type IncomingMessage, type ServerResponse, STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance } from 'fastify'
import type { AppError } from '../../lib/errors.ts'
import { hasSlowBody } from '../requests/slow-body.ts'
import { errorEnvelope } from './error-handler.ts'
import { httpErrors } from './errors.ts'

/**
 * Responds in the error envelope to input that Node's parser rejects and that never becomes a request. The
 * response is written by hand, because there is no response object.
 */
export function answerClientError(
  error: NodeJS.ErrnoException,
  socket: Socket,
  headers: Readonly<Record<string, string>>,
  referenceUrl: string,
): void {
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && hasSlowBody(socket)) return
  if (error.code === 'ERR_HTTP_REQUEST_TIMEOUT' && socket.bytesRead === 0) {
    closeUnused(socket)
    return
  }
  if (error.code === 'ECONNRESET' || !socket.writable || hasBegunToAnswer(socket)) {
    socket.destroy()
    return
  }
  refuse(socket, clientErrors[error.code ?? ''] ?? httpErrors.malformedRequest(), headers, referenceUrl)
}

/**
 * Closes a connection on which nothing was sent, without a response. Browsers and load balancers open
 * connections ahead. Node times the headers from the connection on. A client whose first request arrives at
 * that moment would take a 408 for its response. So the connection lives as long as one that waits for its next
 * request. Node times the headers again from their first byte.
 */
function closeUnused(socket: Socket): void {
  const timer = setTimeout(() => {
    if (socket.bytesRead === 0) socket.destroy()
  }, keepAliveMs).unref()
  socket.once('close', () => clearTimeout(timer))
}

/** Time that a connection waits for its next request. */
export const keepAliveMs = 75_000

const clientErrors: Readonly<Record<string, AppError>> = {
  ERR_HTTP_REQUEST_TIMEOUT: httpErrors.requestTimeout(),
  HPE_HEADER_OVERFLOW: httpErrors.headersTooLarge(),
}

/** Returns true if a response has begun: a client would read anything written into it as a part of it. */
function hasBegunToAnswer(socket: Socket): boolean {
  // Node's own response to a client error reads the same member, which its types do not list.
  const { _httpMessage: response } = socket as { _httpMessage?: ServerResponse | null }
  return response?.headersSent === true
}

/** Replaces the responses that Node would send without a body, or not at all. */
export function addProtocolErrors(
  app: FastifyInstance,
  headers: Readonly<Record<string, string>>,
  referenceUrl: () => string,
): void {
  app.addHook('onRequest', ({ raw }, _reply, done) => {
    done(hasOneHost(raw) && isCodedInChunksAlone(raw) ? undefined : httpErrors.malformedRequest())
  })
  // RFC 9110 §10.1.1: a server may ignore an expectation that it does not know.
  app.server.on('checkExpectation', (request, response) => app.server.emit('request', request, response))
  app.server.on('connect', (_request, socket: Socket) =>
    refuse(socket, httpErrors.malformedRequest(), headers, referenceUrl()),
  )
}

/**
 * Returns false for an invalid `Host`, for two, and for none in HTTP/1.1 (RFC 9112 §3.2). A proxy may have read
 * the other one of two. Node must run with `requireHostHeader: false`.
 */
function hasOneHost({ rawHeaders, headers, httpVersion }: IncomingMessage): boolean {
  const hosts = countHosts(rawHeaders)
  return (hosts === 1 || (hosts === 0 && httpVersion !== '1.1')) && hostPattern.test(headers.host ?? '')
}

/** Pattern of a name or an address with an optional port (RFC 3986 §3.2); the name may be empty. */
const hostPattern = /^(\[[\w:.%]+\]|[\w.~!$&'()*+,;=%-]*)(:\d*)?$/

/**
 * Returns true if the only transfer coding is chunked. Node decodes chunks and leaves every other coding as it
 * is (RFC 9112 §6.1).
 */
function isCodedInChunksAlone({ headers }: IncomingMessage): boolean {
  const coding = headers['transfer-encoding']
  return coding === undefined || coding.toLowerCase() === 'chunked'
}

/** @param rawHeaders alternating names and values */
function countHosts(rawHeaders: readonly string[]): number {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2) {
    const name = rawHeaders[index]
    if (name?.length === 4 && name.toLowerCase() === 'host') count += 1
  }
  return count
}

function refuse(
  socket: Socket,
  refusal: AppError,
  headers: Readonly<Record<string, string>>,
  referenceUrl: string,
): void {
  const body = JSON.stringify(errorEnvelope(refusal, referenceUrl))
  const fields = Object.entries({
    'x-request-id': crypto.randomUUID(),
    ...headers,
    'content-type': 'application/json; charset=utf-8',
    'content-length': String(Buffer.byteLength(body)),
    connection: 'close',
  })
  const head = [
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}`,
    ...fields.map(([name, value]) => `${name}: ${value}`),
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}
