import { isBasaltError } from '@basaltdb/client'
import { inSession } from '../../api/queries.ts'
import { readEvents } from '../../api/stream.ts'

const reconnectMs = 1000
/** Pause after a refusal, which is likely to be repeated, in milliseconds. */
const refusedMs = 10_000

export interface ChangeHandlers {
  /** Handles the opening of the stream. Earlier changes may have been missed. */
  onFollowing(): void
  onLost(): void
  /** Handles a possible change of a row. */
  onChange(): void
  /** Handles the permanent end of the stream by an administrator. */
  onDisconnected(): void
}

/** Data of the `close` event. */
interface Close {
  readonly reason: string
  readonly retryMs?: number
}

/**
 * Follows the changes of a table over an administrator stream until the signal is aborted. The stream resumes after the last
 * event.
 */
export async function followChanges(
  table: string,
  signal: AbortSignal,
  handlers: ChangeHandlers,
): Promise<void> {
  let lastEventId: string | undefined
  while (!signal.aborted) {
    let pauseMs = reconnectMs
    try {
      const query = { tables: table }
      const ending = await inSession(async () => {
        for await (const event of readEvents('admin/realtime/stream', { signal, query, lastEventId })) {
          if (event.name === 'close') return JSON.parse(event.data) as Close
          const isFirst = event.name === 'connected' && lastEventId === undefined
          lastEventId = event.id ?? lastEventId
          if (event.name === 'connected') handlers.onFollowing()
          if (event.name !== 'connected' || isFirst) handlers.onChange()
        }
        return undefined
      }, signal)
      if (ending?.reason === 'disconnected') return handlers.onDisconnected()
      pauseMs = ending?.retryMs ?? reconnectMs
    } catch (error) {
      // The page itself shows that the server is unavailable.
      if (isBasaltError(error) && error.status >= 400) pauseMs = refusedMs
    }
    if (signal.aborted) return
    handlers.onLost()
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}
