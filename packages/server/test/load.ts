import { Agent } from 'node:http'
import { setTimeout as delay } from 'node:timers/promises'
import { codeOf } from '../src/lib/errors.ts'
import { type Reply, sendRequest } from './send-request.ts'

/** Table of {@link startLoad}. Keys are not unique, so that a repeated write is noticed. */
export const loadTable = `
create table item (
  id bigint generated always as identity primary key,
  key text not null,
  counter int not null default 0
);
create index on item (key);
insert into item (key) select 'seed-' || n from generate_series(1, 100) n;
`

export interface LoadOptions {
  /** URLs of servers. A client that is refused, or whose connection is ending, uses the next one. */
  readonly urls: readonly string[]
  readonly token: string
  /** Number of clients, each with one request at a time on a connection that it keeps. */
  readonly clients: number
  /** Prefix of the keys of its creates, for several loads on one table. */
  readonly prefix?: string
  /** True if each request has a connection of its own. */
  readonly reconnects?: boolean
  /** Pause of a client after each response, in milliseconds; none by default. */
  readonly pauseMs?: number
  /** Receives each response. */
  readonly onReply?: (reply: {
    readonly url: string
    readonly method: string
    readonly status: number
  }) => void
}

/** Outcome of a create. Unknown: it may have happened or not. */
type Fate = 'acknowledged' | 'refused' | 'unknown'

export interface Load {
  readonly answered: number
  /** Counts the responses of this status so far. */
  count(status: number): number
  /** Number of requests without a response so far, without refused connections. */
  readonly failed: number
  stop(): Promise<History>
}

export interface History {
  /** Number of responses by status. */
  readonly statuses: ReadonlyMap<number, number>
  /** Number of requests without a response by the code of their error, without refused connections. */
  readonly failures: ReadonlyMap<string, number>
  /** Number of refused connections, whose requests were repeated. */
  readonly refused: number
  /** Responses from 500 on that differ from the documentation. */
  readonly malformed: readonly string[]
  /** Responses from 400 to 499. */
  readonly rejected: readonly string[]
  readonly creates: ReadonlyMap<string, Fate>
}

/** Sends lists, reads, creates and updates until it is stopped, and records each outcome. */
export function startLoad({
  urls,
  token,
  clients,
  prefix = 'key',
  reconnects = false,
  pauseMs = 0,
  onReply,
}: LoadOptions): Load {
  const statuses = new Map<number, number>()
  const failures = new Map<string, number>()
  const malformed: string[] = []
  const rejected: string[] = []
  const creates = new Map<string, Fate>()
  let isStopped = false
  let answered = 0
  let refused = 0

  async function run(client: number): Promise<void> {
    const agent = new Agent({ keepAlive: !reconnects, maxSockets: 1 })
    let target = client
    for (let turn = 0; !isStopped; turn += 1) {
      const key = `${prefix}-${client}-${turn}`
      const [method, path, body] = requests[(turn + client) % requests.length]?.(key) ?? ['GET', '/health']
      for (;;) {
        try {
          const url = urls[target % urls.length] ?? ''
          const answer = await sendRequest(method, `${url}${path}`, { agent, token, body })
          answered += 1
          onReply?.({ url, method, status: answer.status })
          statuses.set(answer.status, (statuses.get(answer.status) ?? 0) + 1)
          if (answer.status >= 500 && !isAsDocumented(answer)) malformed.push(describe(method, path, answer))
          if (answer.status >= 400 && answer.status < 500) rejected.push(describe(method, path, answer))
          if (method === 'POST') creates.set(key, fateOf(answer.status))
          if (answer.headers.connection === 'close') target += 1
          break
        } catch (error) {
          const code = codeOf(error) ?? String(error)
          if (isFailureToConnect(error)) {
            // Nothing was sent, so the next server may be used.
            refused += 1
            target += 1
            if (isStopped) break
            await delay(5)
            continue
          }
          failures.set(code, (failures.get(code) ?? 0) + 1)
          if (method === 'POST') creates.set(key, 'unknown')
          break
        }
      }
      if (pauseMs > 0) await delay(pauseMs)
    }
    agent.destroy()
  }

  const running = Array.from({ length: clients }, (_, client) => run(client))
  return {
    get answered() {
      return answered
    },
    count: (status) => statuses.get(status) ?? 0,
    get failed() {
      return [...failures.values()].reduce((sum, count) => sum + count, 0)
    },
    async stop() {
      isStopped = true
      await Promise.all(running)
      return { statuses, failures, refused, malformed, rejected, creates }
    },
  }
}

function isFailureToConnect(error: unknown): boolean {
  return error instanceof Error && 'syscall' in error && error.syscall === 'connect'
}

type LoadRequest = readonly [method: string, path: string, body?: unknown]

const requests: readonly ((key: string) => LoadRequest)[] = [
  () => ['GET', '/api/collections/item?perPage=10&sort=-id'],
  () => ['GET', '/api/collections/item/7'],
  (key) => ['POST', '/api/collections/item', { key }],
  () => ['PATCH', '/api/collections/item/11', { counter: 1 }],
]

function fateOf(status: number): Fate {
  if (status === 201) return 'acknowledged'
  return status < 500 ? 'refused' : 'unknown'
}

/** Returns true for 503 and 504 in the envelope, 503 with the time to wait. */
function isAsDocumented({ status, headers, text }: Reply): boolean {
  if (status !== 503 && status !== 504) return false
  if (status === 503 && !/^\d+$/.test(headers['retry-after'] ?? '')) return false
  try {
    const parsed = JSON.parse(text)
    return parsed.code === status && typeof parsed.message === 'string' && typeof parsed.error === 'string'
  } catch {
    return false
  }
}

function describe(method: string, path: string, { status, headers, text }: Reply): string {
  return `${method} ${path}: ${status} ${JSON.stringify(headers)} ${text}`
}

/**
 * Compares the outcomes that clients observed with the table.
 *
 * @param present how often each key is in the table
 * @returns contradictions: an acknowledged create that is missing, a refused one in the table, a repeated one
 */
export function contradictions(
  { creates }: History,
  present: ReadonlyMap<string, number>,
): readonly string[] {
  return [...creates].flatMap(([key, fate]) => {
    const count = present.get(key) ?? 0
    if (fate === 'acknowledged' && count === 0) return [`${key}: acknowledged, but missing`]
    if (fate === 'refused' && count > 0) return [`${key}: refused, but present`]
    if (count > 1) return [`${key}: there ${count} times`]
    return []
  })
}
