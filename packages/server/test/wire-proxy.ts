import { connect, createServer } from 'node:net'

/** Messages from callers' connections to Postgres. */
export interface Traffic {
  /** Number of round trips: requests after a response of Postgres. */
  readonly turns: number
  /** Number of Sync messages, thus of transactions. */
  readonly syncs: number
  /** Number of statements executed. */
  readonly executes: number
  /** Texts of the statements that had to be parsed. */
  readonly parsed: readonly string[]
}

/** Proxy before Postgres that reads the messages. */
export interface WireProxy extends AsyncDisposable {
  readonly port: number
  /** Returns the traffic since the last call. */
  takeTraffic(): Traffic
}

interface Link {
  /** True if the connection belongs to the pool of callers, by its first statement. */
  worksForCallers: boolean
  isAnswered: boolean
  turns: number
  syncs: number
  executes: number
  parsed: string[]
}

/** First statement of every transaction of a caller or the administrator. */
const context = 'select set_config('

/** @param target port on loopback */
export async function createWireProxy(target: number): Promise<WireProxy> {
  const links = new Set<Link>()
  const listener = createServer((client) => {
    const server = connect(target, '127.0.0.1')
    const link: Link = { worksForCallers: false, isAnswered: true, ...noTraffic() }
    links.add(link)
    const read = createReader((type, body) => note(link, type, body))
    client.on('data', (chunk) => {
      if (link.isAnswered) link.turns += 1
      link.isAnswered = false
      read(chunk)
      server.write(chunk)
    })
    server.on('data', (chunk) => {
      link.isAnswered = true
      client.write(chunk)
    })
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      one.on('error', () => undefined)
      one.on('close', () => other.destroy())
    }
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const address = listener.address()
  if (typeof address !== 'object' || address === null) throw new Error('the proxy has no port')
  return {
    port: address.port,
    takeTraffic() {
      const total = noTraffic()
      for (const link of links) {
        if (link.worksForCallers) {
          total.turns += link.turns
          total.syncs += link.syncs
          total.executes += link.executes
          total.parsed.push(...link.parsed)
        }
        Object.assign(link, noTraffic())
      }
      return total
    },
    async [Symbol.asyncDispose]() {
      await new Promise((resolve) => listener.close(resolve))
    },
  }
}

function noTraffic() {
  return { turns: 0, syncs: 0, executes: 0, parsed: [] as string[] }
}

function note(link: Link, type: string, body: Buffer): void {
  if (type === 'S') link.syncs += 1
  if (type === 'E') link.executes += 1
  if (type !== 'P') return
  const nameEnd = body.indexOf(0)
  const text = body.toString('utf8', nameEnd + 1, body.indexOf(0, nameEnd + 1))
  link.parsed.push(text)
  link.worksForCallers ||= text.startsWith(context)
}

/** Splits a stream of frontend messages (PostgreSQL, Message Formats). The first one has no type. */
function createReader(receive: (type: string, body: Buffer) => void): (chunk: Buffer) => void {
  let rest = Buffer.alloc(0)
  let isStarted = false
  return (chunk) => {
    rest = Buffer.concat([rest, chunk])
    for (;;) {
      const typeLength = isStarted ? 1 : 0
      if (rest.length < typeLength + 4) return
      const end = typeLength + rest.readInt32BE(typeLength)
      if (rest.length < end) return
      if (isStarted) receive(String.fromCharCode(rest[0] ?? 0), rest.subarray(5, end))
      isStarted = true
      rest = rest.subarray(end)
    }
  }
}
