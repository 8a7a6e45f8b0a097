import { readError } from '../answer.ts'
import { BasaltError } from '../errors.ts'
import { parseExact } from '../exact-json.ts'
import type { Transport } from '../transport.ts'
import { pauseBeforeAttempt } from './reconnect.ts'

/** A change of a record. */
export interface Change {
  readonly action: 'create' | 'update' | 'delete'
  readonly table: string
  /** The whole record; of one that was deleted or is no longer shown its primary key, values as texts. */
  readonly record: Readonly<Record<string, unknown>>
}

/** What a stream says, in order. */
export type StreamEvent =
  /** Writes that begin from now on arrive. */
  | { readonly type: 'connected'; readonly id: string }
  | { readonly type: 'change'; readonly id: string; readonly change: Change }
  /** Changes may be missing: read the tables again. */
  | { readonly type: 'gap'; readonly id: string }
  /** The connection broke; it is opened again by itself. */
  | { readonly type: 'disconnected'; readonly error: unknown }

export interface StreamOptions {
  readonly tables: readonly string[]
  /** Of the stream's own language; it holds for all tables. */
  readonly filter?: string | undefined
  /** Where to begin: the id of the last event that was seen. */
  readonly lastEventId?: string | undefined
  readonly onEvent: (event: StreamEvent) => void
}

/** The server sends something every 20 s; a connection that is silent for longer is dead, as after sleep. */
const silenceMs = 45_000

/**
 * Keeps a stream open until the signal is aborted: resumes after the last event whenever it breaks, and begins anew where
 * it cannot, with a gap.
 *
 * @throws BasaltError when the server refuses the stream for good, or what `onEvent` throws
 */
export async function followStream(
  transport: Transport,
  { tables, filter, lastEventId, onEvent }: StreamOptions,
  signal: AbortSignal,
): Promise<void> {
  let lastId = lastEventId
  let failures = 0
  while (!signal.aborted) {
    let ending: unknown
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
      ending = error
    }
    if (signal.aborted) return
    onEvent({ type: 'disconnected', error: ending })
    if (isFinal(ending, failures)) throw ending
    const retryAfter = ending instanceof BasaltError ? ending.retryAfterSeconds : undefined
    failures = await pauseBeforeAttempt(failures + 1, signal, retryAfter)
  }
}

/** Tells apart what a listener throws from what happens to the connection: another attempt would not mend it. */
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

/** Whether another attempt is in vain. */
function isFinal(ending: unknown, failures: number): boolean {
  if (!(ending instanceof BasaltError)) return false
  if (ending.error === 'stream_disconnected') return true
  // A token can end between its renewal and the stream; refused twice in a row it stays refused.
  if (ending.status === 401) return failures > 1
  return ending.status >= 400 && ending.status < 500 && ending.status !== 429 && ending.status !== 408
}

function describe({ name, data }: ServerSentEvent, id: string): StreamEvent | undefined {
  if (name === 'connected' || name === 'gap') return { type: name, id }
  // What later servers may add has a name.
  if (name !== undefined || data === '') return undefined
  return { type: 'change', id, change: parseExact(data) as Change }
}

/** Data of the event `close`. */
interface Close {
  readonly reason: string
  readonly message: string
  /** Undefined of servers before it was sent, and where another attempt is in vain. */
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

/** One event of a stream; one without data still carries its id. */
export interface ServerSentEvent {
  readonly id: string | undefined
  readonly name: string | undefined
  readonly data: string
}

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

/** Cuts a text into events, however it is cut into pieces (HTML Standard, Server-sent events). */
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

/** A name as the list of a stream reads it. */
function quoteName(name: string): string {
  return /[",]|^\s|\s$/.test(name) ? `"${name.replaceAll('"', '""')}"` : name
}
