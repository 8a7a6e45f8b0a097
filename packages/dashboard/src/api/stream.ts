import { createEventParser, type ServerSentEvent } from '@basaltdb/client/realtime'
import { client } from './client.ts'

export interface EventsOptions {
  readonly signal: AbortSignal
  readonly query?: Readonly<Record<string, string | undefined>> | undefined
  readonly lastEventId?: string | undefined
  /** Called when the response starts. From then on, no event is missed. */
  readonly onOpen?: (() => void) | undefined
}

/**
 * Yields the events of a `text/event-stream` endpoint until the signal is aborted or the server closes the stream.
 *
 * @throws BasaltError if the server refuses the stream
 */
export async function* readEvents(
  path: string,
  { signal, query, lastEventId, onOpen }: EventsOptions,
): AsyncGenerator<ServerSentEvent> {
  const headers = {
    accept: 'text/event-stream',
    ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }),
  }
  const detail = { signal, query, headers, isRepeatable: true }
  const response = await client.transport.exchange('GET', path, detail, (answer) => answer)
  onOpen?.()
  if (response.body === null) return
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader()
  const parse = createEventParser()
  try {
    for (;;) {
      const { done, value } = await reader.read()
      if (done) return
      yield* parse(value)
    }
  } finally {
    await reader.cancel().catch(() => undefined)
  }
}
