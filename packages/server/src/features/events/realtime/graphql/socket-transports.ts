import type { LiveCatalog } from '../../../../database/catalog/live-catalog.ts'
import type { SubscriptionPlan } from '../../../data/graphql/index.ts'
import type { Message } from '../changes/select-events.ts'
import type { Ending, Transport } from '../stream.ts'
import { WebSocketConnection } from '../websocket/websocket-connection.ts'
import { formatNextMessage } from './messages.ts'
import { changePayload, gapPayload, holdsNow, readyPayload } from './payloads.ts'

/** Transport of the stream that a GraphQL WebSocket is counted as. Its subscriptions have streams of their own. */
export class SocketTransport extends WebSocketConnection implements Transport {
  readonly name = 'ws'

  frame(): string {
    return ''
  }

  gap(): void {}

  /** WebSockets have pings of their own. */
  heartbeat(): void {}

  end(ending: Ending): void {
    const { code, reason } = endings[ending]
    this.close(code, reason)
  }
}

/**
 * Close codes. The library `graphql-ws` reconnects after 1001 and 1013, and no more after 4401. It would not reconnect
 * after 1011.
 */
const endings: Readonly<Record<Ending, { readonly code: number; readonly reason: string }>> = {
  slow_client: { code: 1013, reason: 'the client reads too slowly; resume with lastEventId' },
  session_ended: { code: 4401, reason: 'the token has expired or its session has ended' },
  server_shutdown: { code: 1001, reason: 'server is shutting down; reconnect' },
  server_error: { code: 1013, reason: 'internal error; reconnect and resume with lastEventId' },
  disconnected: { code: 4401, reason: 'disconnected by an administrator' },
}

export interface SubscriptionTransportDeps {
  readonly connection: WebSocketConnection
  /** Id of the operation. */
  readonly id: string
  readonly plan: SubscriptionPlan
  readonly live: Pick<LiveCatalog, 'current'>
  /** Ends the whole WebSocket. */
  readonly onEnd: (ending: Ending) => void
  /** Ends the subscription, as the table no longer fits it. */
  readonly onSchemaChange: () => void
}

/** Transport of one subscription over a WebSocket that it shares with others. */
export class SubscriptionTransport implements Transport {
  readonly name = 'ws'
  readonly hasOwnFrames = true
  readonly #deps: SubscriptionTransportDeps
  readonly #holds: () => boolean

  constructor(deps: SubscriptionTransportDeps) {
    this.#deps = deps
    this.#holds = holdsNow(deps)
  }

  /** Ends the subscription if the table no longer fits it. */
  checkSchema(): void {
    if (!this.#holds()) this.#deps.onSchemaChange()
  }

  frame(id: string | undefined, message: Message): string {
    const { plan } = this.#deps
    return this.#holds() ? this.#next(changePayload(plan, message, id)) : ''
  }

  send(frames: readonly string[]): void {
    const { connection, onSchemaChange } = this.#deps
    // A frame is empty if the catalog changed meanwhile.
    if (this.#holds()) connection.send(frames.filter((frame) => frame !== ''))
    else onSchemaChange()
  }

  gap(id: string | undefined): void {
    this.send([this.#next(gapPayload(this.#deps.plan, id))])
  }

  /** Renders the notice that the subscription is in force. */
  readyFrame(id: string | undefined): string {
    return this.#next(readyPayload(this.#deps.plan, id))
  }

  heartbeat(): void {}

  get pendingBytes(): number {
    return this.#deps.connection.pendingBytes
  }

  drained(): Promise<void> {
    return this.#deps.connection.drained()
  }

  end(ending: Ending): void {
    this.#deps.onEnd(ending)
  }

  #next(payload: string): string {
    return formatNextMessage(this.#deps.id, payload)
  }
}
