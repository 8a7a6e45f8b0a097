import { setTimeout as delay } from 'node:timers/promises'
import { type EventStreamClient, openEventStream, type StreamEvent } from './event-stream.ts'

/** Client that reconnects to any of the nodes whenever its stream ends, and resumes after its last event. */
export interface ResumingStream extends AsyncDisposable {
  /** Events of all connections in their order. */
  readonly events: readonly StreamEvent[]
  /** Number of connections so far. */
  readonly connections: number
  /** Number of attempts to connect that failed. */
  readonly failures: number
}

export async function followStream(
  urls: () => readonly string[],
  query: string,
  token: string,
): Promise<ResumingStream> {
  const events: StreamEvent[] = []
  let connections = 0
  let failures = 0
  let isOver = false
  let last: string | undefined
  let stream: EventStreamClient | undefined

  async function connect(): Promise<void> {
    const nodes = urls()
    const url = nodes[Math.floor(Math.random() * nodes.length)] ?? ''
    const opened = await openEventStream(url, query, { token, lastEventId: last })
    if (opened.status !== 200 || opened.refusal !== undefined) throw new Error(`refused: ${opened.text}`)
    stream = opened
    connections += 1
  }

  async function follow(): Promise<void> {
    while (!isOver) {
      try {
        await connect()
        // It may be over since the attempt began.
        if (isOver) await stream?.[Symbol.asyncDispose]()
        await stream?.ended(600_000)
      } catch {
        failures += 1
        await delay(100)
      }
      if (stream === undefined) continue
      events.push(...stream.events)
      last = stream.lastEventId
      stream = undefined
    }
  }

  await connect()
  const first = stream
  const following = (async () => {
    await first?.ended(600_000)
    events.push(...(first?.events ?? []))
    last = first?.lastEventId
    stream = undefined
    await follow()
  })()
  return {
    get events() {
      return [...events, ...(stream?.events ?? [])]
    },
    get connections() {
      return connections
    },
    get failures() {
      return failures
    },
    async [Symbol.asyncDispose]() {
      isOver = true
      await stream?.[Symbol.asyncDispose]()
      await following
    },
  }
}
