import { toError } from '../errors.ts'
import type { Transport } from '../transport.ts'
import { followStream, type StreamEvent } from './event-source.ts'
import type { OnSourceEvent, Source } from './hub.ts'

/** Creates a stream of this page. @param from id of the last event that was received */
export function createOwnStream(transport: Transport, onEvent: OnSourceEvent, from?: string): Source {
  let open: { readonly tables: ReadonlySet<string>; readonly controller: AbortController } | undefined
  let lastEventId = from
  let isConnected = false
  return {
    setTables(tables) {
      const isOpenFor = open !== undefined && tables.every((table) => open?.tables.has(table))
      if (tables.length > 0 && isOpenFor) {
        // The stream continues unchanged. If it is not open yet, it reports when it is.
        if (isConnected) onEvent({ type: 'connected', id: lastEventId ?? '' })
        return
      }
      open?.controller.abort()
      isConnected = false
      if (tables.length === 0) {
        open = undefined
        lastEventId = undefined
        return
      }
      const controller = new AbortController()
      open = { tables: new Set(tables), controller }
      const pass = (event: StreamEvent) => {
        if (controller.signal.aborted) return
        isConnected = event.type !== 'disconnected'
        if (event.type !== 'disconnected') lastEventId = event.id
        onEvent(event)
      }
      followStream(transport, { tables, lastEventId, onEvent: pass }, controller.signal).catch((error) => {
        if (controller.signal.aborted) return
        open = undefined
        isConnected = false
        onEvent({ type: 'failed', error: toError(error) })
      })
    },
  }
}
