import type { Mail, PushMessage } from '../messages.ts'
import type { LogLine } from './server.ts'

/** Job that a call has added. */
export interface AddedJob {
  readonly id: string
  readonly job: string
  readonly payload: Readonly<Record<string, unknown>>
  readonly key: string | undefined
  /** Earliest time of the first attempt; undefined: at once. */
  readonly at: Date | undefined
}

/** Broadcast that a call has sent by `ctx.emit`. */
export interface SentBroadcast {
  readonly channel: string
  readonly event: string
  readonly payload: unknown
}

/** Result of a call, and what it would do after its commit. Nothing of it is sent or run. */
export interface Outcome<Result> {
  /** Result of the function, as JSON carries it; undefined for none. A response or a stream is a `Response`. */
  readonly result: Result
  readonly jobs: readonly AddedJob[]
  readonly mails: readonly Mail[]
  readonly pushes: readonly PushMessage[]
  readonly broadcasts: readonly SentBroadcast[]
  /** Lines that the function and its hooks have logged. */
  readonly logs: readonly LogLine[]
}

/** Outcome as the server sends it. */
export interface SentOutcome {
  readonly value?: string
  readonly response?: {
    readonly status: number
    readonly headers: [string, string][]
    readonly body?: string
  }
  readonly additions: readonly { readonly kind: string; readonly members: object }[]
}

function readJson(value: string | undefined): unknown {
  return value === undefined ? undefined : JSON.parse(value)
}

function makeResponse({ status, headers, body }: NonNullable<SentOutcome['response']>): Response {
  return new Response(body === undefined ? null : Buffer.from(body, 'base64'), { status, headers })
}

export function readOutcome<Result>(
  { value, response, additions }: SentOutcome,
  logs: readonly LogLine[],
): Outcome<Result> {
  const of = <Member>(kind: string) =>
    additions.filter((each) => each.kind === kind).map(({ members }) => members as Member)
  return {
    // The caller says the type of the result.
    result: (response === undefined ? readJson(value) : makeResponse(response)) as Result,
    jobs: of<Omit<AddedJob, 'at'> & { readonly at?: number }>('job').map(({ at, key, ...job }) => ({
      ...job,
      key,
      at: at === undefined ? undefined : new Date(at),
    })),
    mails: of('mail'),
    pushes: of('push'),
    broadcasts: of('broadcast'),
    logs,
  }
}
