import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Function that serves the requests of `ctx.fetch`. */
export type TestFetch = (request: Request) => Response | Promise<Response>

/** Headers of the connection to the stub, and those that name the request. */
const ownHeaders = new Set(['host', 'connection', 'content-length', 'x-basalt-test-url', 'x-basalt-test-key'])

/** HTTP server on a loopback port, to which the server of the test sends the requests of functions. */
export class FetchStubs {
  readonly #functions = new Map<string, TestFetch>()
  #server: Promise<Server> | undefined

  /** Runs work whose requests the function serves. @param work gets the address of the stub */
  async during<Result>(
    serve: TestFetch | undefined,
    work: (stub: { readonly port: number; readonly key: string } | undefined) => Promise<Result>,
  ): Promise<Result> {
    if (serve === undefined) return await work(undefined)
    this.#server ??= this.#listen()
    const { port } = (await this.#server).address() as AddressInfo
    const key = randomUUID()
    this.#functions.set(key, serve)
    try {
      return await work({ port, key })
    } finally {
      this.#functions.delete(key)
    }
  }

  async close(): Promise<void> {
    const server = await this.#server
    server?.close()
    server?.closeAllConnections()
  }

  #listen(): Promise<Server> {
    return new Promise((resolve, reject) => {
      const server = createServer((request, response) => void this.#serve(request, response))
      server.on('error', reject)
      server.listen(0, '127.0.0.1', () => resolve(server.unref()))
    })
  }

  async #serve(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const serve = this.#functions.get(String(incoming.headers['x-basalt-test-key']))
    try {
      if (serve === undefined) throw new Error('the call has ended')
      const response = await serve(await readRequest(incoming))
      outgoing.writeHead(response.status, response.statusText, [...response.headers].flat())
      outgoing.end(Buffer.from(await response.arrayBuffer()))
    } catch (error) {
      const message = error instanceof Error ? error.message : String(error)
      outgoing.writeHead(500, { 'x-basalt-test-failure': encodeURIComponent(message) }).end()
    }
  }
}

async function readRequest(incoming: IncomingMessage): Promise<Request> {
  const { method = 'GET', headers } = incoming
  const chunks: Buffer[] = []
  for await (const chunk of incoming) chunks.push(chunk as Buffer)
  const sent = Object.entries(headers).flatMap(([name, value]) =>
    value === undefined || ownHeaders.has(name) ? [] : [[name, String(value)] as [string, string]],
  )
  return new Request(String(headers['x-basalt-test-url']), {
    method,
    headers: sent,
    ...(['GET', 'HEAD'].includes(method) ? {} : { body: Uint8Array.from(Buffer.concat(chunks)) }),
  })
}
