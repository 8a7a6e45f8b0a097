import type { Message } from '../changes/select-events.ts'
import { type Ending, gapMessage, type Transport } from '../stream.ts'
import { WebSocketConnection } from './websocket-connection.ts'

/** Transport of frames to a WebSocket client. */
export class WebSocketTransport extends WebSocketConnection implements Transport {
  readonly name = 'ws'

  frame(id: string | undefined, { body }: Message): string {
    const member = id === undefined ? '' : `"id":${JSON.stringify(id)},`
    return `{"type":"event",${member}${body.slice(1)}`
  }

  gap(id: string | undefined): void {
    this.send([JSON.stringify({ type: 'system', message: gapMessage, id })])
  }

  /** WebSockets have pings of their own. */
  heartbeat(): void {}

  end(ending: Ending): void {
    const { code, reason } = endings[ending]
    if (ending === 'slow_client') this.send([JSON.stringify({ type: 'error', message: reason })])
    this.close(code, reason)
  }
}

/** Close codes. Codes from 4000 on are Basalt’s own, the others are those of RFC 6455 §7.4.1. */
const endings: Readonly<Record<Ending, { readonly code: number; readonly reason: string }>> = {
  slow_client: { code: 1013, reason: 'the client reads too slowly' },
  session_ended: { code: 4401, reason: 'the token has expired or its session has ended' },
  server_shutdown: { code: 1001, reason: 'server is shutting down' },
  server_error: { code: 1011, reason: 'internal error; reconnect with last_event_id to resume' },
  disconnected: { code: 4000, reason: 'disconnected by an administrator' },
}
