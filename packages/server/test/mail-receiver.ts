import { createServer, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Received mail with its id, which is the same for each attempt. */
export interface Received {
  readonly id: string
  readonly to: string
  readonly text: string
}

/** Behaviour of a receiver: the status of its response, its delay, or no response. */
export interface Behaviour {
  readonly status?: number
  readonly delayMs?: number
  readonly hangs?: boolean
}

/** Receiver of the webhook backend that can fail on purpose. */
export interface Receiver extends AsyncDisposable {
  readonly url: string
  /** Posted mails, including rejected ones, the oldest first. */
  readonly received: readonly Received[]
  /** Changes the behaviour for further requests. Delayed responses remain delayed. */
  behave(behaviour: Behaviour): void
  /** Stops listening and cuts every connection, as a server that died. */
  die(): Promise<void>
  /** Listens again at the same address. */
  revive(): Promise<void>
}

export async function openReceiver(initial: Behaviour = {}): Promise<Receiver> {
  const received: Received[] = []
  let behaviour = initial
  const server = createServer((request, response) => {
    void readBody(request).then((body) => {
      const { to, text, body: message } = JSON.parse(body)
      received.push({ id: String(request.headers['webhook-id']), to, text: text ?? message })
      const { status = 200, delayMs = 0, hangs = false } = behaviour
      if (!hangs) setTimeout(() => response.writeHead(status).end(), delayMs)
    })
  })
  await listen(server, 0)
  const { port } = server.address() as AddressInfo
  const die = () =>
    new Promise<void>((resolve) => {
      server.close(() => resolve())
      server.closeAllConnections()
    })
  return {
    url: `http://127.0.0.1:${port}/`,
    received,
    behave(next) {
      behaviour = next
    },
    die,
    revive: () => listen(server, port),
    [Symbol.asyncDispose]: die,
  }
}

function listen(server: Server, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject)
    server.listen(port, '127.0.0.1', () => resolve())
  })
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}
