import { connect, createServer, type Server } from 'node:net'

/** TCP balancer on loopback. New connections lead to its target, and open ones stay where they are. */
export interface Balancer extends AsyncDisposable {
  readonly port: number
  /** Port on loopback. */
  target: number
}

export async function startBalancer(target: number): Promise<Balancer> {
  let current = target
  const server: Server = createServer((client) => {
    const upstream = connect(current, '127.0.0.1')
    for (const [one, other] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      one.on('error', () => other.destroy())
      one.on('close', () => other.destroy())
      one.pipe(other)
    }
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('the balancer has no port')
  return {
    port: address.port,
    get target() {
      return current
    },
    set target(port) {
      current = port
    },
    async [Symbol.asyncDispose]() {
      server.close()
    },
  }
}
