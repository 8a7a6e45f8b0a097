import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Logger } from 'pino'
import type { LiveCatalog } from '../../../../database/catalog/live-catalog.ts'
import { identityOf } from '../../../../http/access/authentication.ts'
import { httpErrors } from '../../../../http/errors/errors.ts'
import { addressKey } from '../../../../http/requests/client-address.ts'
import { EventStream, reconnectAfter } from '../../../../http/responses/sse.ts'
import { messageOf } from '../../../../lib/errors.ts'
import {
  completeEvent,
  describeFailure,
  formatNext,
  graphqlErrors,
  type RequestedSubscription,
  type SubscriptionPlan,
} from '../../../data/graphql/index.ts'
import type { Message } from '../changes/select-events.ts'
import { lastEventIdOf } from '../routes.ts'
import { type Ending, listenerOf, Stream, type Transport } from '../stream.ts'
import type { Streams } from '../streams.ts'
import { changePayload, gapPayload, holdsNow, readyPayload } from './payloads.ts'
import { planStream, type Start, type SubscribingDeps } from './subscribing.ts'

/** Milliseconds that a client waits before it reconnects. */
const reconnectMs = 1000

export interface GraphqlEventsDeps extends SubscribingDeps {
  readonly streams: Streams
  readonly live: Pick<LiveCatalog, 'current'>
  readonly log: Logger
}

/** Transport of one subscription as server-sent events (GraphQL over Server-Sent Events, Distinct connections mode). */
class GraphqlEventTransport implements Transport {
  readonly name = 'sse'
  readonly hasOwnFrames = true
  readonly #reply: FastifyReply
  readonly #plan: SubscriptionPlan
  readonly #holds: () => boolean
  readonly #onSchemaChange: () => void
  #events: EventStream | undefined

  /** @param onSchemaChange runs when the table no longer fits the subscription, which has ended */
  constructor(
    reply: FastifyReply,
    plan: SubscriptionPlan,
    live: Pick<LiveCatalog, 'current'>,
    onSchemaChange: () => void,
  ) {
    this.#reply = reply
    this.#plan = plan
    this.#holds = holdsNow({ plan, live })
    this.#onSchemaChange = onSchemaChange
  }

  get hasBegun(): boolean {
    return this.#events !== undefined
  }

  /** Sends the head. An event without data is not dispatched, but its id counts (HTML Standard, Server-sent events). */
  begin({ id, hasGap }: Start, isReadySent: boolean): void {
    this.#events = new EventStream(this.#reply)
    this.#events.write(`retry: ${reconnectMs}\n${id === undefined ? '' : `id: ${id}\n`}\n`)
    if (isReadySent) this.send([formatNext(readyPayload(this.#plan, id), id)])
    if (hasGap) this.gap(id)
  }

  frame(id: string | undefined, message: Message): string {
    return this.#holds() ? formatNext(changePayload(this.#plan, message, id), id) : ''
  }

  send(frames: readonly string[]): void {
    if (this.#holds()) this.#events?.write(frames.join(''))
    else this.checkSchema()
  }

  /** Ends the subscription if the table no longer fits it. */
  checkSchema(): void {
    if (!this.hasBegun || this.#holds()) return
    this.#endWith(describeFailure(graphqlErrors.schemaChanged())?.errors ?? [])
    this.#onSchemaChange()
  }

  gap(id: string | undefined): void {
    this.send([formatNext(gapPayload(this.#plan, id), id)])
  }

  heartbeat(id: string | undefined): void {
    this.#events?.write(id === undefined ? ':\n\n' : `:\nid: ${id}\n\n`)
  }

  get pendingBytes(): number {
    return this.#events?.pendingBytes ?? 0
  }

  drained(): Promise<void> {
    return this.#events?.drained() ?? Promise.resolve()
  }

  /** Ends the stream. Without `complete` clients reconnect. */
  end(ending: Ending): void {
    const message = finalEndings[ending]
    if (message === undefined) this.#events?.end(`retry: ${reconnectAfter(1)}\n\n`)
    else this.#endWith([{ message, extensions: { code: ending } }])
  }

  #endWith(errors: readonly unknown[]): void {
    this.#events?.end(formatNext(JSON.stringify({ errors })) + completeEvent)
  }
}

/** Messages of endings after which the same request is refused, or that were requested. */
const finalEndings: Readonly<Partial<Record<Ending, string>>> = {
  session_ended: 'the token has expired or its session has ended',
  disconnected: 'disconnected by an administrator',
}

/** Opens the stream of a subscription. @throws AppError if it has not begun */
export async function openGraphqlEvents(
  deps: GraphqlEventsDeps,
  request: FastifyRequest,
  reply: FastifyReply,
  requested: RequestedSubscription,
): Promise<void> {
  const { streams, live, log } = deps
  streams.requireOpen()
  const lastEventId = lastEventIdOf(request) ?? requested.lastEventId
  const transport: GraphqlEventTransport = new GraphqlEventTransport(reply, requested.plan, live, () =>
    stream.disconnect(),
  )
  const listener = listenerOf(identityOf(request), request.token)
  const hooks = { onTick: () => transport.checkSchema() }
  const stream: Stream = new Stream(transport, listener, addressKey(request), streams, { hooks })
  reply.raw.once('close', () => stream.disconnect())
  if (reply.raw.destroyed) stream.disconnect()
  try {
    const subscribe = await planStream(deps, stream, { ...requested, lastEventId })
    await streams.admit(stream)
    await subscribe((start) => {
      if (stream.isOpen) transport.begin(start, requested.isReadySent)
    })
  } catch (error) {
    if (!transport.hasBegun) {
      stream.disconnect()
      throw error
    }
    log.warn({ reason: messageOf(error) }, 'failed to continue a subscription; ending it')
    stream.end('server_error')
  }
  if (transport.hasBegun) return
  // The stream ended before its response began. The client has disconnected or still waits for a response.
  if (stream.ending === 'client_closed') {
    reply.hijack()
    return
  }
  throw stream.ending === 'session_ended'
    ? httpErrors.invalidToken()
    : httpErrors.shuttingDown().retryAfter(1)
}
