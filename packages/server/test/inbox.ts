import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'

/** Request of the webhook backends: a mail or a text message. */
export interface Delivery {
  readonly to: string
  readonly subject?: string
  readonly text?: string
  readonly html?: string
  /** Body of a text message. */
  readonly body?: string
}

/** Server that receives mail and text messages from the webhook backends. */
export interface Inbox extends AsyncDisposable {
  readonly url: string
  /** Deliveries that have arrived, the oldest first. */
  readonly all: readonly Delivery[]
  /** Waits for the next unread delivery to a recipient, and removes it. */
  take(to: string): Promise<Delivery>
  /** Responds to further deliveries with this status. */
  answer(status: number): void
}

const limitMs = 60_000

export async function openInbox(): Promise<Inbox> {
  const all: Delivery[] = []
  const untaken: Delivery[] = []
  const waiting = new Set<() => void>()
  let status = 200
  const server = createServer((request, response) => {
    void readBody(request).then((body) => {
      if (status === 200) {
        const delivery = JSON.parse(body) as Delivery
        all.push(delivery)
        untaken.push(delivery)
        for (const wake of waiting) wake()
      }
      response.writeHead(status).end()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo

  function find(to: string): Delivery | undefined {
    const index = untaken.findIndex((delivery) => delivery.to === to)
    return index < 0 ? undefined : untaken.splice(index, 1)[0]
  }

  return {
    url: `http://127.0.0.1:${port}/`,
    all,
    answer(next) {
      status = next
    },
    take: (to) =>
      new Promise((resolve, reject) => {
        const timer = setTimeout(() => {
          waiting.delete(check)
          reject(new Error(`nothing arrived for ${to}; others: ${all.map((each) => each.to).join(', ')}`))
        }, limitMs)
        const check = () => {
          const found = find(to)
          if (found === undefined) return
          waiting.delete(check)
          clearTimeout(timer)
          resolve(found)
        }
        waiting.add(check)
        check()
      }),
    async [Symbol.asyncDispose]() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** Returns the token of the link in a mail. */
export function tokenIn({ text = '' }: Delivery): string {
  const token = /[?&]token=([\w-]+)/.exec(text)?.[1]
  if (token === undefined) throw new Error(`no link with a token in: ${text}`)
  return token
}

/** Returns the code in a text message. */
export function codeIn({ body = '' }: Delivery): string {
  const code = /\b(\d{4,8})\b/.exec(body)?.[1]
  if (code === undefined) throw new Error(`no code in: ${body}`)
  return code
}

async function readBody(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of request) chunks.push(chunk as Buffer)
  return Buffer.concat(chunks).toString('utf8')
}
