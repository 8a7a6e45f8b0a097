import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Delivery as received over the wire. */
export interface Received {
  readonly method: string
  readonly path: string
  readonly headers: IncomingHttpHeaders
  /** Body exactly as sent. */
  readonly raw: Buffer
  // biome-ignore lint/suspicious/noExplicitAny: assertions name what they expect of it
  readonly json: any
}

export type Respond = (response: ServerResponse, received: Received) => void

/** Receiver of webhooks on a port of its own. It keeps deliveries and responds with 204, or as configured. */
export interface Receiver extends AsyncDisposable {
  readonly url: string
  readonly received: Received[]
  /** Most deliveries that were in flight at once. */
  readonly mostAtOnce: number
  respond: Respond
}

export const accept: Respond = (response) => response.writeHead(204).end()

/** Makes a response with a status, and optional headers and body. */
export function answer(status: number, headers: Record<string, string> = {}, body = ''): Respond {
  return (response) => response.writeHead(status, headers).end(body)
}

export async function startReceiver(respond: Respond = accept): Promise<Receiver> {
  const received: Received[] = []
  let atOnce = 0
  let mostAtOnce = 0
  const server = createServer((message, response) => {
    const chunks: Buffer[] = []
    atOnce += 1
    mostAtOnce = Math.max(mostAtOnce, atOnce)
    response.on('close', () => {
      atOnce -= 1
    })
    message.on('data', (chunk: Buffer) => chunks.push(chunk))
    message.on('end', () => {
      const raw = Buffer.concat(chunks)
      const { method = '', url: path = '', headers } = message
      const each = { method, path, headers, raw, json: JSON.parse(raw.toString('utf8')) }
      received.push(each)
      receiver.respond(response, each)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // A server on a port has an address of this form.
  const { port } = server.address() as AddressInfo
  const receiver: Receiver = {
    url: `http://127.0.0.1:${port}/hook`,
    received,
    get mostAtOnce() {
      return mostAtOnce
    },
    respond,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
  return receiver
}
