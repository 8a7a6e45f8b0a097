import { readFile } from 'node:fs/promises'
import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import { stripTypeScriptTypes } from 'node:module'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'

/** Server of pages with the client, on one origin with the API as behind a proxy. */
export interface PageServer extends AsyncDisposable {
  readonly origin: string
  passOnTo(url: string): void
  /** Breaks all open connections. */
  cut(): void
}

const sources = join(import.meta.dirname, '..')

/** Page that has the client as globals. */
const page = `<!doctype html><title>page</title><input autocomplete="username webauthn" autofocus><script type="module">
  const parts = ['index', 'auth/index', 'realtime/index'].map((name) => import('/client/' + name + '.ts'))
  window.basalt = Object.assign({}, ...await Promise.all(parts))
</script>`

export async function servePages(): Promise<PageServer> {
  let api = ''

  /** Passes a request on unchanged, streams included. */
  function pass(incoming: IncomingMessage, response: ServerResponse): void {
    const { method, headers, url = '' } = incoming
    const outgoing = request(api + url, { method, headers }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(response)
    })
    outgoing.on('error', () => response.destroy())
    response.on('close', () => outgoing.destroy())
    incoming.pipe(outgoing)
  }

  async function serveSource(path: string, response: ServerResponse): Promise<void> {
    const source = await readFile(join(sources, path), 'utf8')
    // Frames without an origin load the modules, too.
    const headers = { 'content-type': 'text/javascript', 'access-control-allow-origin': '*' }
    response.writeHead(200, headers).end(stripTypeScriptTypes(source))
  }

  const server = createServer((incoming, response) => {
    const { pathname } = new URL(incoming.url ?? '', 'http://localhost')
    if (pathname.startsWith('/api/')) pass(incoming, response)
    else if (pathname.startsWith('/client/')) void serveSource(pathname.slice('/client/'.length), response)
    else response.writeHead(200, { 'content-type': 'text/html' }).end(page)
  })
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve))
  // A server that listens on a port has an address of this form.
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://localhost:${port}`,
    passOnTo(url) {
      api = url
    },
    cut: () => server.closeAllConnections(),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}
