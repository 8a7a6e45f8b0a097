import { isBasaltError } from '@basaltdb/client'
import { inSession } from '../../api/queries.ts'
import { readEvents } from '../../api/stream.ts'

const reconnectMs = 1000
/** After a refusal, which is likely to be repeated. */
const refusedMs = 10_000

export interface ChangeHandlers {
  /** Changes that are made from now on are noticed; those from before may not have been. */
  onFollowing(): void
  onLost(): void
  /** Something has changed. */
  onChange(): void
  /** An administrator has ended it for good. */
  onDisconnected(): void
}

/** Data of the event `close`. */
interface Close {
  readonly reason: string
  readonly retryMs?: number
}

/** Follows the changes of a table by a stream of the administrator, which is resumed where it was, until the signal. */
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
      // An unavailable server is shown by the page itself.
      if (isBasaltError(error) && error.status >= 400) pauseMs = refusedMs
    }
    if (signal.aborted) return
    handlers.onLost()
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}
