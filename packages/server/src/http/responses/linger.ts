import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isBodyAwaited } from '../requests/expectation.ts'

/** Maximum number of bytes, and time, that a client may keep sending after the response. */
const lingerBytes = 16 * 1024 * 1024
const lingerMs = 2000

/**
 * Sends a response that does not wait for the rest of the request. Within the body limit Node reads and drops
 * that rest, and the connection stays open. A longer rest is not worth reading. But closing at once would reset
 * the connection, and with it the response before the client has read it (RFC 9112 §9.6). So response and
 * connection end when the client stops sending or one of the limits is reached.
 */
export function sendEarly(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: string,
  bodyLimit: number,
): void {
  const { raw, headers } = request
  const rest = headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : Infinity
  // A client that waits for 100 Continue does not send the rest.
  if (raw.complete || isBodyAwaited(raw) || rest <= bodyLimit) {
    // Fastify closes the connection after every body that it rejects; a stopping server closes it for a reason.
    if (reply.raw.getHeader('connection') !== 'close') void reply.removeHeader('connection')
    void reply.send(payload)
    return
  }
  void reply
    .header('connection', 'close')
    .header('content-length', Buffer.byteLength(payload))
    .send(untilQuiet(raw, payload))
}

/** Returns the text as a stream. The stream ends when the request ends or exceeds a limit. */
function untilQuiet(request: IncomingMessage, text: string): Readable {
  const stream = new Readable({ read: () => undefined })
  stream.push(text)
  const end = () => {
    clearTimeout(timer)
    request.off('data', count)
    stream.push(null)
  }
  const timer = setTimeout(end, lingerMs).unref()
  let droppedBytes = 0
  const count = (chunk: Buffer) => {
    droppedBytes += chunk.length
    if (droppedBytes > lingerBytes) end()
  }
  request.on('data', count).once('end', end).once('close', end)
  return stream
}
