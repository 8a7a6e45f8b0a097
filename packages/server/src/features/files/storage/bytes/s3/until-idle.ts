/** Milliseconds without a byte after which a response counts as broken off. */
const idleMs = 30_000

/** Passes a body on until it ends or stalls. Leaving it early closes the connection. */
export async function* untilIdle(body: ReadableStream<Uint8Array>): AsyncIterable<Uint8Array> {
  const reader = body.getReader()
  try {
    for (;;) {
      const { promise: idle, reject } = Promise.withResolvers<never>()
      const timer = setTimeout(() => reject(new Error('S3 sends nothing more')), idleMs)
      const { done, value } = await Promise.race([reader.read(), idle]).finally(() => clearTimeout(timer))
      if (done) return
      yield value
    }
  } finally {
    // This closes the connection of a reader that leaves early. For a stream that has ended it does nothing.
    await reader.cancel().catch(() => undefined)
  }
}
