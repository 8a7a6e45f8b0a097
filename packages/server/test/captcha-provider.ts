import { createServer, type IncomingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Request to judge a token. */
export interface Verification {
  readonly headers: IncomingHttpHeaders
  readonly body: string
}

/** Starts a provider that speaks the published protocol, on a port of its own. */
export async function startCaptchaProvider() {
  const verifications: Verification[] = []
  let reply: { status: number; body: string } | 'silence' = { status: 200, body: '{}' }
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const part of request) body += part
    verifications.push({ headers: request.headers, body })
    if (reply !== 'silence') response.writeHead(reply.status).end(reply.body)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  // A server on a port has an address of this form.
  const { port } = server.address() as AddressInfo
  return {
    url: `http://127.0.0.1:${port}/siteverify`,
    verifications,
    respond: (status: number, json: object) => {
      reply = { status, body: JSON.stringify(json) }
    },
    respondText: (status: number, body: string) => {
      reply = { status, body }
    },
    fallSilent: () => {
      reply = 'silence'
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
