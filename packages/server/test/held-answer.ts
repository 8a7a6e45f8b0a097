import { connect, createServer } from 'node:net'

/** A proxy before Postgres, on a port of loopback. */
export interface HeldAnswer extends AsyncDisposable {
  readonly port: number
  /** Resolves when Postgres has answered and its client does not know. */
  readonly held: Promise<void>
  release(): void
}

/** Messages of one connection as text. */
export interface Exchange {
  /** All that was sent before. */
  readonly before: string
  readonly sent: string
  readonly answer: string
}

/**
 * Holds the first answer that is to be held, and what follows it on its connection.
 *
 * @param target port on loopback
 */
export async function holdAnswer(
  target: number,
  isToBeHeld: (exchange: Exchange) => boolean,
): Promise<HeldAnswer> {
  const held = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  let isUsed = false
  const listener = createServer((client) => {
    const server = connect(target, '127.0.0.1')
    let before = ''
    let sent = ''
    let isAnswered = false
    let isHeld = false
    client.on('data', (chunk) => {
      if (isAnswered) {
        before += sent
        sent = ''
        isAnswered = false
      }
      sent += chunk.toString('latin1')
      server.write(chunk)
    })
    server.on('data', (chunk) => {
      isAnswered = true
      if (!isUsed && isToBeHeld({ before, sent, answer: chunk.toString('latin1') })) {
        isUsed = true
        isHeld = true
        held.resolve()
        void released.promise.then(() => (isHeld = false))
      }
      if (isHeld) void released.promise.then(() => client.write(chunk))
      else client.write(chunk)
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
  return {
    port: typeof address === 'object' && address !== null ? address.port : 0,
    held: held.promise,
    release: released.resolve,
    async [Symbol.asyncDispose]() {
      released.resolve()
      await new Promise((resolve) => listener.close(resolve))
    },
  }
}
