import { once } from 'node:events'
import { createServer, type IncomingHttpHeaders, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Request as received over the wire. */
export interface ReceivedRequest {
  readonly method: string
  /** Path with the query. */
  readonly path: string
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

export type Answer = (response: ServerResponse, request: ReceivedRequest) => void

/**
 * Stand-in for a provider of text messages on a port of its own. It keeps every request and responds as configured.
 */
export interface SmsStandIn extends AsyncDisposable {
  readonly url: string
  readonly requests: readonly ReceivedRequest[]
  /** Sets the response to further requests and forgets earlier ones. */
  answerWith(answer: Answer): void
  /** Returns the only request since then. */
  onlyRequest(): ReceivedRequest
}

export async function startSmsStandIn(): Promise<SmsStandIn> {
  const requests: ReceivedRequest[] = []
  let answer: Answer = (response) => response.end()
  const server = createServer((message, response) => {
    void receive(message).then((request) => {
      requests.push(request)
      answer(response, request)
    })
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  // A server on a port has an address of this form.
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    answerWith(next) {
      requests.length = 0
      answer = next
    },
    onlyRequest() {
      const [request, ...others] = requests
      if (request === undefined || others.length > 0) throw new Error(`${requests.length} requests came`)
      return request
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}

async function receive(message: IncomingMessage): Promise<ReceivedRequest> {
  const chunks: Buffer[] = []
  for await (const chunk of message) chunks.push(chunk)
  const { method = '', url = '', headers } = message
  return { method, path: url, headers, body: Buffer.concat(chunks).toString('utf8') }
}

/** Makes a response with a JSON body. */
export function json(status: number, body: unknown): Answer {
  return text(status, JSON.stringify(body), 'application/json')
}

export function text(status: number, body: string, type = 'text/plain'): Answer {
  return (response) => response.writeHead(status, { 'content-type': type }).end(body)
}
