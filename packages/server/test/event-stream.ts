import { type IncomingMessage, request } from 'node:http'
import { waitFor } from './wait-for.ts'

/** Event as a browser dispatches it. */
export interface StreamEvent {
  readonly name: string
  readonly id: string
  // biome-ignore lint/suspicious/noExplicitAny: assertions name what they expect of it
  readonly data: any
}

/** Client of server-sent events that follows the rules of the HTML Standard. */
export interface EventStreamClient extends AsyncDisposable {
  readonly status: number
  readonly headers: IncomingMessage['headers']
  /** Events dispatched so far. */
  readonly events: readonly StreamEvent[]
  /** Reason of a temporary refusal of the stream. */
  readonly refusal: string | undefined
  /** Data of changes only. */
  readonly messages: readonly StreamEvent['data'][]
  /** Value that a browser would send as `Last-Event-ID` now. */
  readonly lastEventId: string
  readonly comments: number
  readonly hasEnded: boolean
  /** Raw text received so far. */
  readonly text: string
  /** Waits until so many changes have arrived. */
  next(count: number, timeoutMs?: number): Promise<readonly StreamEvent['data'][]>
  /** Waits for an event of this name. */
  named(name: string, timeoutMs?: number): Promise<StreamEvent>
  ended(timeoutMs?: number): Promise<void>
  pause(): void
  resume(): void
}

export interface EventStreamOptions {
  readonly token?: string | undefined
  readonly lastEventId?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
  /** Path of the stream, `/api/realtime` by default. */
  readonly path?: string
}

/** Parses the data of an event, which the last event of a GraphQL operation lacks. */
function parseData(text: string): StreamEvent['data'] {
  return text === '' ? undefined : JSON.parse(text)
}

/**
 * Opens a stream. Resolves when the head has arrived, with `connected` or `close` unless the status refused the stream.
 */
export async function openEventStream(
  base: string,
  query: string,
  { token, lastEventId, headers = {}, path = '/api/realtime' }: EventStreamOptions = {},
): Promise<EventStreamClient> {
  const events: StreamEvent[] = []
  let last = lastEventId ?? ''
  let comments = 0
  let hasEnded = false
  let text = ''
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    const outgoing = request(`${base}${path}?${query}`, {
      agent: false,
      headers: {
        accept: 'text/event-stream',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
        ...headers,
      },
    })
    outgoing.once('response', resolve).once('error', reject).end()
  })
  response.setEncoding('utf8')
  let rest = ''
  let name = ''
  let data: string[] = []
  response.on('data', (chunk: string) => {
    text += chunk
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) {
      if (line === '') {
        if (data.length > 0)
          events.push({ name: name || 'message', id: last, data: parseData(data.join('\n')) })
        name = ''
        data = []
      } else if (line.startsWith(':')) comments += 1
      else if (line.startsWith('id: ')) last = line.slice(4)
      else if (line.startsWith('event: ')) name = line.slice(7)
      else if (line.startsWith('data: ')) data.push(line.slice(6))
    }
  })
  response.on('error', () => undefined)
  response.once('close', () => {
    hasEnded = true
  })
  const client: EventStreamClient = {
    status: response.statusCode ?? 0,
    headers: response.headers,
    events,
    get refusal() {
      return events[0]?.name === 'close' ? events[0].data.reason : undefined
    },
    get messages() {
      return events.filter((event) => event.name === 'message').map((event) => event.data)
    },
    get lastEventId() {
      return last
    },
    get comments() {
      return comments
    },
    get hasEnded() {
      return hasEnded
    },
    get text() {
      return text
    },
    next: (count, timeoutMs) =>
      waitFor(
        `${count} events`,
        () => (client.messages.length >= count ? client.messages : undefined),
        timeoutMs,
      ),
    named: (wanted, timeoutMs) =>
      waitFor(`the event ${wanted}`, () => events.find((event) => event.name === wanted), timeoutMs),
    ended: async (timeoutMs) => {
      await waitFor('the end of the stream', () => hasEnded, timeoutMs)
    },
    pause: () => void response.pause(),
    resume: () => void response.resume(),
    async [Symbol.asyncDispose]() {
      response.destroy()
    },
  }
  if (client.status === 200) await waitFor('the first event', () => events.length > 0)
  else await client.ended()
  return client
}
