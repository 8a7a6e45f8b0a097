import { createClient as createEventClient } from 'graphql-sse'
import { createClient as createSocketClient } from 'graphql-ws'
import { WebSocket } from 'ws'
import type { TestApp } from './test-app.ts'
import { waitFor } from './wait-for.ts'
import { openWebSocket, type WebSocketClient, type WebSocketClientOptions } from './websocket-client.ts'

/* Clients of GraphQL subscriptions: those of npm, and one that sends any message. */

/** Result of an operation. */
// biome-ignore lint/suspicious/noExplicitAny: assertions name what they expect of it
type Result = any

export interface Subscription {
  /** Results of changes so far. */
  readonly results: readonly Result[]
  /** Position of the notice that the subscription is in force. */
  readonly readyId: string | undefined
  /** End of the subscription: `complete`, or the error that the client has reported. */
  readonly end: unknown
  stop(): void
  /** Waits until the subscription is in force. */
  ready(): Promise<void>
  /** Waits for so many results of changes. */
  next(count?: number): Promise<readonly Result[]>
  ended(): Promise<unknown>
}

interface Request {
  readonly query: string
  readonly variables?: Record<string, unknown>
  readonly extensions?: Record<string, unknown>
}

interface Sink {
  next(result: Result): void
  error(error: unknown): void
  complete(): void
}

export interface StreamClient extends AsyncDisposable {
  /** Starts an operation. */
  run(query: string, options?: Omit<Request, 'query'>): Subscription
}

export interface StreamClientOptions {
  readonly token?: string | undefined
}

function runOver(client: { subscribe(request: Request, sink: Sink): () => void }): StreamClient['run'] {
  return (query, { extensions, ...options } = {}) => {
    const results: Result[] = []
    let readyId: string | undefined
    let end: unknown
    const stop = client.subscribe(
      { query, ...options, extensions: { ready: true, ...extensions } },
      {
        next(result) {
          if (result.extensions?.ready === true) readyId = result.extensions.id
          else results.push(result)
        },
        error: (error) => {
          end = error
        },
        complete: () => {
          end ??= 'complete'
        },
      },
    )
    return {
      results,
      get readyId() {
        return readyId
      },
      get end() {
        return end
      },
      stop,
      async ready() {
        await waitFor('the subscription to be in force', () => readyId ?? end)
        if (readyId === undefined) throw new Error(`the subscription has ended: ${JSON.stringify(end)}`)
      },
      next: (count = 1) => waitFor(`${count} results`, () => (results.length >= count ? results : undefined)),
      ended: () => waitFor('the end of the operation', () => end),
    }
  }
}

/** Opens the client of `graphql-ws`. It does not reconnect. */
export function openSocketClient({ url }: TestApp, { token }: StreamClientOptions = {}): StreamClient {
  const client = createSocketClient({
    url: `${url.replace(/^http/, 'ws')}/api/graphql`,
    webSocketImpl: WebSocket,
    connectionParams: token === undefined ? {} : { Authorization: `Bearer ${token}` },
    retryAttempts: 0,
  })
  return {
    run: runOver(client as Parameters<typeof runOver>[0]),
    async [Symbol.asyncDispose]() {
      await client.dispose()
    },
  }
}

/** Opens the client of `graphql-sse`, in its mode of distinct connections. It does not reconnect. */
export function openEventClient({ url }: TestApp, { token }: StreamClientOptions = {}): StreamClient {
  const client = createEventClient({
    url: `${url}/api/graphql`,
    headers: token === undefined ? {} : { Authorization: `Bearer ${token}` },
    retryAttempts: 0,
  })
  return {
    run: runOver(client as Parameters<typeof runOver>[0]),
    async [Symbol.asyncDispose]() {
      client.dispose()
    },
  }
}

export interface RawSocketOptions extends WebSocketClientOptions {
  /** Payload of `connection_init`; false to send none. */
  readonly init?: object | false
}

/** Opens a GraphQL WebSocket that sends any message. Resolves after the acknowledgement, if there is one. */
export async function openGraphqlSocket(
  base: string,
  { init = {}, ...options }: RawSocketOptions = {},
): Promise<WebSocketClient> {
  const client = await openWebSocket(base, {
    path: '/api/graphql',
    protocol: 'graphql-transport-ws',
    ...options,
  })
  if (init === false) return client
  client.send({ type: 'connection_init', payload: init })
  await waitFor('the acknowledgement', () => client.closed ?? client.ofType('connection_ack')[0])
  return client
}
