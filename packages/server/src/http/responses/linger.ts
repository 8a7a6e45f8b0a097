import type { IncomingMessage } from 'node:http'
import { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { isBodyAwaited } from '../requests/expectation.ts'

/** How much and for how long a client may keep sending after the answer. */
const lingerBytes = 16 * 1024 * 1024
const lingerMs = 2000

/**
 * Sends an answer that does not wait for the rest of the request. Within the body limit Node reads that rest and
 * drops it, and the connection stays. A longer one is not worth reading, but closing at once would reset the
 * connection, and with it the answer before the client has read it (RFC 9112 §9.6): so the answer ends, and the
 * connection with it, when the client stops sending or has had its chance.
 */
export function sendEarly(
  request: FastifyRequest,
  reply: FastifyReply,
  payload: string,
  bodyLimit: number,
): void {
  const { raw, headers } = request
  const rest = headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : Infinity
  // A client that waits to be asked for the rest sends none of it.
  if (raw.complete || isBodyAwaited(raw) || rest <= bodyLimit) {
    // Fastify closes after every body it refuses; a server that stops closes for a reason.
    if (reply.raw.getHeader('connection') !== 'close') void reply.removeHeader('connection')
    void reply.send(payload)
    return
  }
  void reply
    .header('connection', 'close')
    .header('content-length', Buffer.byteLength(payload))
    .send(untilQuiet(raw, payload))
}

/** The text, ended when nothing more of the request comes or too much of it has come. */
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
