import { createServer, type IncomingMessage, request, type Server } from 'node:http'
import { createServer as createSecureServer } from 'node:https'
import { connect, type Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { certificate, certificateKey } from './certificate.ts'

/** Reverse proxy on loopback, with the faults of misconfigured ones. */
export interface HttpProxy extends AsyncDisposable {
  readonly url: string
  readonly faults: ProxyFaults
}

export interface ProxyFaults {
  /** True to send a response only once it is complete. */
  buffersResponses?: boolean
  /** True to remove the headers of upgrades. */
  removesUpgrade?: boolean
  /** Largest request body in bytes. */
  bodyLimit?: number
  /** Treatment of `X-Forwarded-For`: `append` adds the client, as it must. */
  forwarding?: 'append' | 'pass' | 'remove'
  /** Address from which the proxy reaches the server. */
  from?: string
}

/** @param target origin of the server */
export async function startHttpProxy(
  target: string,
  { isSecure = false, ...faults }: ProxyFaults & { readonly isSecure?: boolean } = {},
): Promise<HttpProxy> {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  const server: Server = isSecure
    ? createSecureServer({ cert: certificate, key: certificateKey })
    : createServer()

  const headersOf = ({ headers, socket }: IncomingMessage) => {
    const given = headers['x-forwarded-for']
    const client = socket.remoteAddress ?? ''
    const forwarded = {
      append: given === undefined ? client : `${given}, ${client}`,
      pass: given,
      remove: undefined,
    }[faults.forwarding ?? 'append']
    const { 'x-forwarded-for': _, ...others } = headers
    return { ...others, ...(forwarded === undefined ? {} : { 'x-forwarded-for': forwarded }) }
  }
  const source = () => (faults.from === undefined ? {} : { localAddress: faults.from })

  server.on('request', (incoming, outgoing) => {
    if (Number(incoming.headers['content-length'] ?? 0) > (faults.bodyLimit ?? Number.POSITIVE_INFINITY)) {
      outgoing.writeHead(413, { connection: 'close' }).end('<h1>413 Request Entity Too Large</h1>')
      return
    }
    const { url: path = '/', method = 'GET' } = incoming
    const options = {
      host: hostname,
      port,
      path,
      method,
      headers: headersOf(incoming),
      agent: false,
      ...source(),
    }
    const forwarded = request(options, (response) => {
      const { statusCode = 502, headers } = response
      response.on('error', () => outgoing.destroy())
      if (faults.buffersResponses === true) {
        void text(response).then(
          (body) => outgoing.writeHead(statusCode, headers).end(body),
          () => outgoing.destroy(),
        )
      } else {
        outgoing.writeHead(statusCode, headers)
        outgoing.flushHeaders()
        response.pipe(outgoing)
      }
    })
    forwarded.on('error', () => outgoing.destroy())
    outgoing.on('close', () => forwarded.destroy())
    incoming.pipe(forwarded)
  })
  server.on('upgrade', (incoming: IncomingMessage, client: Socket, head: Buffer) => {
    const isRemoved = faults.removesUpgrade === true
    const headers = { ...incoming.headers, ...(isRemoved ? { connection: 'close' } : {}) }
    if (isRemoved) delete headers.upgrade
    const upstream = connect({ host: hostname, port: Number(port), ...source() })
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    upstream.write(`${incoming.method} ${incoming.url} HTTP/1.1\r\n${lines.join('')}\r\n`)
    upstream.write(head)
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(one)
      one.on('error', () => other.destroy())
      one.on('close', () => other.destroy())
      one.pipe(other)
    }
  })
  server.on('connection', (socket) => sockets.add(socket))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (typeof address !== 'object' || address === null) throw new Error('the proxy has no port')
  return {
    url: `${isSecure ? 'https' : 'http'}://${isSecure ? 'localhost' : '127.0.0.1'}:${address.port}`,
    faults,
    async [Symbol.asyncDispose]() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
