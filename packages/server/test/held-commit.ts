import { connect, createServer } from 'node:net'

/** A proxy before Postgres, on a port of loopback. */
export interface HeldCommit extends AsyncDisposable {
  readonly port: number
  /** Resolves when the transaction is committed and its client does not know. */
  readonly committed: Promise<void>
  release(): void
}

/**
 * Holds the answer to one commit: the first on a connection that has sent the statement.
 *
 * @param target port on loopback
 * @param statement a part of its text
 */
export async function holdCommit(target: number, statement: string): Promise<HeldCommit> {
  const committed = Promise.withResolvers<void>()
  const released = Promise.withResolvers<void>()
  let isUsed = false
  const listener = createServer((client) => {
    const server = connect(target, '127.0.0.1')
    let hasSent = false
    let isHeld = false
    client.on('data', (chunk) => {
      const text = chunk.toString('latin1')
      hasSent ||= text.includes(statement)
      if (hasSent && !isUsed && /\bcommit\b/i.test(text)) {
        isUsed = true
        isHeld = true
      }
      server.write(chunk)
    })
    server.on('data', (chunk) => {
      if (!isHeld) return void client.write(chunk)
      committed.resolve()
      void released.promise.then(() => {
        isHeld = false
        client.write(chunk)
      })
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
    committed: committed.promise,
    release: released.resolve,
    async [Symbol.asyncDispose]() {
      released.resolve()
      await new Promise((resolve) => listener.close(resolve))
    },
  }
}
