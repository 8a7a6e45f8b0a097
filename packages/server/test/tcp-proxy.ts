import { connect, createServer, type Socket } from 'node:net'
import { setTimeout as delay } from 'node:timers/promises'

/** TCP proxy on loopback whose connections tests break. */
export interface TcpProxy extends AsyncDisposable {
  readonly port: number
  /** Number of open connections. */
  readonly connections: number
  /**
   * Stops forwarding in both directions, with the sockets left open. New connections are accepted and not forwarded.
   */
  freeze(): void
  /** Freezes the open connections for good; new ones work. */
  freezePresent(): void
  thaw(): void
  /** Sets the milliseconds by which each piece is delayed in each direction. */
  setDelay(ms: number): void
  /** Cuts a connection instead of forwarding the first reply that the test picks; once. */
  cutReply(picks: (reply: Buffer) => boolean): Promise<void>
  /**
   * Holds the first reply that the test picks, with everything after it on its connection; once.
   *
   * @param picks also gets the bytes that the connection has sent since
   */
  holdReply(picks: (reply: Buffer, sent: string) => boolean): HeldReply
  /** Cuts every connection. */
  cut(): void
}

export interface HeldReply {
  /** Promise that resolves when a reply is held. */
  readonly held: Promise<void>
  release(): void
}

interface Link {
  readonly client: Socket
  readonly server: Socket
  isFrozen: boolean
  /** Bytes sent since a reply is to be held. */
  sent: string
}

/** @param target port on loopback */
export async function createTcpProxy(target: number): Promise<TcpProxy> {
  const links = new Set<Link>()
  let isFrozen = false
  let delayMs = 0
  let cutter: { picks: (reply: Buffer) => boolean; done: () => void } | undefined
  let holder: { picks: (reply: Buffer, sent: string) => boolean; hold: () => Promise<void> } | undefined
  const held: (() => void)[] = []

  function forward(link: Link, from: Socket, to: Socket, isReply: boolean): void {
    let last = Promise.resolve()
    let isHeld = false
    // The end of a connection gets lost like anything else.
    from.on('end', () => {
      if (!link.isFrozen && !isFrozen) void last.then(() => to.end())
    })
    from.on('data', (chunk) => {
      if (isReply && cutter?.picks(chunk) === true) {
        const { done } = cutter
        cutter = undefined
        link.client.destroy()
        link.server.destroy()
        done()
        return
      }
      if (holder !== undefined && !isReply) link.sent += chunk.toString('latin1')
      if (isReply && holder?.picks(chunk, link.sent) === true) {
        last = holder.hold()
        holder = undefined
        isHeld = true
      }
      if (link.isFrozen) return
      if (isFrozen) {
        held.push(() => to.write(chunk))
        return
      }
      if (delayMs === 0 && !isHeld) {
        to.write(chunk)
        return
      }
      const ms = delayMs
      last = last.then(async () => {
        await delay(ms)
        to.write(chunk)
      })
    })
  }

  const listener = createServer({ noDelay: true, allowHalfOpen: true }, (client) => {
    const server = connect({ port: target, host: '127.0.0.1', noDelay: true, allowHalfOpen: true })
    const link: Link = { client, server, isFrozen: false, sent: '' }
    links.add(link)
    forward(link, client, server, false)
    forward(link, server, client, true)
    for (const [one, other] of [
      [client, server],
      [server, client],
    ] as const) {
      one.on('error', () => undefined)
      one.on('close', () => {
        links.delete(link)
        other.destroy()
      })
    }
  })
  await new Promise<void>((resolve) => listener.listen(0, '127.0.0.1', resolve))
  const address = listener.address()
  if (typeof address !== 'object' || address === null) throw new Error('the proxy has no port')

  const cut = () => {
    for (const { client, server } of links) {
      client.destroy()
      server.destroy()
    }
  }
  return {
    port: address.port,
    get connections() {
      return links.size
    },
    freeze() {
      isFrozen = true
    },
    freezePresent() {
      for (const link of links) link.isFrozen = true
    },
    thaw() {
      isFrozen = false
      for (const release of held.splice(0)) release()
    },
    setDelay(ms) {
      delayMs = ms
    },
    cutReply: (picks) =>
      new Promise((done) => {
        cutter = { picks, done }
      }),
    holdReply(picks) {
      const isThere = Promise.withResolvers<void>()
      const released = Promise.withResolvers<void>()
      const hold = () => {
        isThere.resolve()
        return released.promise
      }
      holder = { picks, hold }
      return { held: isThere.promise, release: released.resolve }
    },
    cut,
    async [Symbol.asyncDispose]() {
      cut()
      await new Promise((resolve) => listener.close(resolve))
    },
  }
}
