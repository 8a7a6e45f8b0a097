import { BasaltError, toError } from '../errors.ts'
import { parseExact } from '../exact-json.ts'
import { readError } from '../response.ts'
import type { Transport } from '../transport.ts'
import { pauseBeforeAttempt } from './reconnect.ts'

/** Change of a record. */
export interface Change {
  readonly action: 'create' | 'update' | 'delete'
  readonly table: string
  /**
   * Record after the change. Deleted records and records that became invisible have their primary key only, with values as
   * strings.
   */
  readonly record: Readonly<Record<string, unknown>>
}

/** Event of a stream, in stream order. */
export type StreamEvent =
  /** The stream is open. All later writes are delivered. */
  | { readonly type: 'connected'; readonly id: string }
  | { readonly type: 'change'; readonly id: string; readonly change: Change }
  /** Changes may be missing, so read the tables again. */
  | { readonly type: 'gap'; readonly id: string }
  /** The connection broke. The stream reconnects by itself. The error is undefined if the server gave no reason. */
  | { readonly type: 'disconnected'; readonly error: Error | undefined }

export interface StreamOptions {
  /** Tables to follow. */
  readonly tables: readonly string[]
  /** Filter in the language of streams, which applies to all tables. */
  readonly filter?: string | undefined
  /** Id of the last processed event, after which the stream resumes. */
  readonly lastEventId?: string | undefined
  /** Called for each event. */
  readonly onEvent: (event: StreamEvent) => void
}

/**
 * Longest silence of a live connection. The server sends a comment every 20 s, so a longer silence means a dead connection, for
 * example after sleep.
 */
const silenceMs = 45_000

/**
 * Keeps a stream open until the signal is aborted. It resumes after the last event when the connection breaks. If it cannot
 * resume, it restarts with a gap.
 *
 * @throws BasaltError if the server refuses the stream permanently, or the error that `onEvent` throws
 */
export async function followStream(
  transport: Transport,
  { tables, filter, lastEventId, onEvent }: StreamOptions,
  signal: AbortSignal,
): Promise<void> {
  let lastId = lastEventId
  let failures = 0
  while (!signal.aborted) {
    let ending: Error | undefined
    try {
      for await (const event of readStream(transport, { tables, filter, lastId }, signal)) {
        if (event.name === 'close') {
          ending = readClose(event.data)
          break
        }
        failures = 0
        if (event.id !== undefined) lastId = event.id
        const said = describe(event, lastId ?? '')
        if (said !== undefined) deliver(said, onEvent)
      }
    } catch (error) {
      if (error instanceof ListenerFailure) throw error.cause
      ending = toError(error)
    }
    if (signal.aborted) return
    onEvent({ type: 'disconnected', error: ending })
    if (isFinal(ending, failures)) throw ending
    const retryAfter = ending instanceof BasaltError ? ending.retryAfterSeconds : undefined
    failures = await pauseBeforeAttempt(failures + 1, signal, retryAfter)
  }
}

/** Error of a listener. It is kept apart from connection errors, because another attempt would not fix it. */
class ListenerFailure {
  readonly cause: unknown
  constructor(cause: unknown) {
    this.cause = cause
  }
}

function deliver(event: StreamEvent, onEvent: (event: StreamEvent) => void): void {
  try {
    onEvent(event)
  } catch (error) {
    throw new ListenerFailure(error)
  }
}

/** Returns true if another attempt cannot succeed. */
function isFinal(ending: unknown, failures: number): boolean {
  if (!(ending instanceof BasaltError)) return false
  if (ending.error === 'stream_disconnected') return true
  // A token can expire between its renewal and the stream. After two rejections in a row, it stays rejected.
  if (ending.status === 401) return failures > 1
  return ending.status >= 400 && ending.status < 500 && ending.status !== 429 && ending.status !== 408
}

function describe({ name, data }: ServerSentEvent, id: string): StreamEvent | undefined {
  if (name === 'connected' || name === 'gap') return { type: name, id }
  // Later servers may add events, which have a name.
  if (name !== undefined || data === '') return undefined
  return { type: 'change', id, change: parseExact(data) as Change }
}

/** Data of the `close` event. */
interface Close {
  readonly reason: string
  readonly message: string
  /** Pause before the next attempt, in milliseconds. Absent if another attempt cannot succeed, and on older servers. */
  readonly retryMs?: number
}

function readClose(data: string): BasaltError {
  const { reason, message, retryMs } = JSON.parse(data) as Close
  return new BasaltError(message, {
    error: `stream_${reason}`,
    status: 0,
    ...(retryMs === undefined ? {} : { retryAfterSeconds: retryMs / 1000 }),
  })
}

/** Event of a stream. An event without data still carries its id. */
export interface ServerSentEvent {
  readonly id: string | undefined
  readonly name: string | undefined
  readonly data: string
}

/** Opens one stream connection and yields its events. */
async function* readStream(
  { url, tokens, fetch }: Transport,
  {
    tables,
    filter,
    lastId,
  }: { tables: readonly string[]; filter: string | undefined; lastId: string | undefined },
  signal: AbortSignal,
): AsyncGenerator<ServerSentEvent> {
  const connection = new AbortController()
  const abort = () => connection.abort(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  let watchdog: ReturnType<typeof setTimeout> | undefined
  const watch = () => {
    clearTimeout(watchdog)
    watchdog = setTimeout(() => connection.abort(new Error('the stream is silent')), silenceMs)
  }
  try {
    watch()
    const token = await tokens.token()
    const query = new URLSearchParams({
      tables: tables.map(quoteName).join(),
      ...(filter === undefined ? {} : { filter }),
    })
    const response = await fetch(`${url}/api/realtime?${query}`, {
      headers: {
        accept: 'text/event-stream',
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(lastId === undefined ? {} : { 'last-event-id': lastId }),
      },
      signal: connection.signal,
    })
    if (!response.ok || response.body === null) {
      if (response.status === 401 && token !== undefined) await tokens.renew?.(token)
      throw readError(response, await response.text())
    }
    const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
    const parser = createEventParser()
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      watch()
      yield* parser(value)
    }
  } finally {
    clearTimeout(watchdog)
    signal.removeEventListener('abort', abort)
    connection.abort()
  }
}

/** Creates a parser that splits chunks of text into events, wherever a chunk ends (HTML Standard, Server-sent events). */
export function createEventParser(): (text: string) => ServerSentEvent[] {
  let rest = ''
  return (text) => {
    const blocks = (rest + text).split(/\r\n\r\n|\n\n|\r\r/)
    rest = blocks.pop() ?? ''
    return blocks.flatMap((block) => {
      let id: string | undefined
      let name: string | undefined
      const data: string[] = []
      for (const line of block.split(/\r\n|\n|\r/)) {
        const [, field, value = ''] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? []
        if (field === 'id') id = value
        else if (field === 'event') name = value
        else if (field === 'data') data.push(value)
      }
      return id === undefined && name === undefined && data.length === 0
        ? []
        : [{ id, name, data: data.join('\n') }]
    })
  }
}

/** Quotes a table name for the table list of a stream. */
function quoteName(name: string): string {
  return /[",]|^\s|\s$/.test(name) ? `"${name.replaceAll('"', '""')}"` : name
}
