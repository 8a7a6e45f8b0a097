import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import { translateDatabaseFailure } from '../../../../database/errors/error-translation.ts'
import { requireTable } from '../../../../http/access/grants.ts'
import { httpErrors } from '../../../../http/errors/errors.ts'
import { AppError, messageOf } from '../../../../lib/errors.ts'
import type { SubscriptionPlanner } from '../changes/subscriptions.ts'
import { type ChannelRequests, requireChannelGrant } from '../channels/channel-requests.ts'
import type { Channels } from '../channels/channels.ts'
import { realtimeErrors } from '../errors.ts'
import { type Listener, Stream, type StreamHooks } from '../stream.ts'
import type { Streams } from '../streams.ts'
import {
  type ClientMessage,
  envelopeLimitBytes,
  parseMessage,
  requireSize,
  tablesOf,
} from './client-messages.ts'
import type { MessageQueue } from './message-queue.ts'
import type { TableRequests } from './table-requests.ts'
import type { WebSocketTiming } from './websocket-timing.ts'
import type { WebSocketTransport } from './websocket-transport.ts'

/** Maximum bytes buffered for an unauthenticated client. */
const unauthenticatedPendingBytes = 64 * 1024

export interface SessionDeps {
  readonly streams: Streams
  readonly planner: SubscriptionPlanner
  readonly channels: Channels
  readonly tableRequests: TableRequests
  readonly channelRequests: ChannelRequests
  /** Returns the caller of the token; undefined if it opens no stream. */
  readonly authenticate: (token: string) => Promise<Listener | undefined>
  /** Caller without a token; undefined if a token is required. */
  readonly anonymous: Listener | undefined
  readonly log: Logger
  /** Maximum bytes of a broadcast payload. */
  readonly broadcastLimitBytes: number
  readonly timing: WebSocketTiming
}

/** Listener without a token while auth is on. */
const withoutToken: Listener = { scope: { kind: 'anonymous' }, userId: undefined, token: undefined }

/** Credentials that came with the request for the WebSocket. */
export type Credentials = 'nothing' | 'malformed' | { readonly token: string }
/** Session of one WebSocket client. */
export class WebSocketSession {
  readonly id = randomUUID()
  readonly address: string
  readonly #deps: SessionDeps
  readonly #transport: WebSocketTransport
  readonly #queue: MessageQueue
  #stream: Stream | undefined
  #authentication: NodeJS.Timeout | undefined
  #idleSince = performance.now()

  constructor(deps: SessionDeps, transport: WebSocketTransport, queue: MessageQueue, address: string) {
    this.#deps = deps
    this.#transport = transport
    this.#queue = queue
    this.address = address
  }

  /** True if the client is authenticated and counted. */
  get isAdmitted(): boolean {
    return this.#stream !== undefined
  }

  begin(credentials: Credentials): void {
    this.#queue.push(() => this.#begin(credentials))
  }

  receive(data: Buffer, isBinary: boolean): void {
    if (!this.#transport.isOpen) return
    if (!this.isAdmitted && data.length > envelopeLimitBytes) {
      this.close(1009, 'message too big')
      return
    }
    this.#queue.push(() => this.#handle(data, isBinary))
  }

  /** Closes from the server side with a reason that streams do not have. */
  close(code: number, reason: string): void {
    this.#transport.close(code, reason)
    this.disconnect()
  }

  /** Registers that the socket has closed or is about to close. */
  disconnect(): void {
    clearTimeout(this.#authentication)
    this.#queue.close()
    this.#stream?.disconnect()
  }

  /** Ends a session without subscriptions. */
  #endIfIdle({ subscriptions, channels, isCatchingUp }: Stream, now: number): void {
    const isIdle = subscriptions.size === 0 && channels.size === 0 && !isCatchingUp
    if (!isIdle) this.#idleSince = now
    else if (now - this.#idleSince >= this.#deps.timing.idleMs) this.close(1001, 'nothing subscribed to')
  }

  async #begin(credentials: Credentials): Promise<void> {
    const { anonymous, authenticate, timing } = this.#deps
    if (anonymous === undefined && credentials === 'nothing') {
      this.#send({ type: 'connected', client_id: this.id })
      this.#authentication = setTimeout(
        () => this.close(4401, 'auth timeout'),
        timing.authenticationMs,
      ).unref()
      return
    }
    try {
      const listener =
        anonymous ?? (typeof credentials === 'string' ? undefined : await authenticate(credentials.token))
      if (listener === undefined) this.close(4401, 'invalid or expired token')
      else if (await this.#admit(listener)) this.#send({ type: 'connected', client_id: this.id })
    } catch (error) {
      this.#closeRefused(error)
    }
  }

  async #handle(data: Buffer, isBinary: boolean): Promise<void> {
    if (!this.#transport.isOpen) return
    let message: ClientMessage
    try {
      if (isBinary) throw realtimeErrors.invalidMessage('expected a text message')
      message = parseMessage(data.toString('utf8'))
    } catch (error) {
      this.#send({ type: 'error', message: messageOf(error) })
      return
    }
    try {
      requireSize(message, data.length, this.#deps.broadcastLimitBytes)
      await this.#dispatch(message)
    } catch (error) {
      this.#refuse(message, error)
    }
  }

  async #dispatch(message: ClientMessage): Promise<void> {
    if (message.type === 'auth') return await this.#authenticate(message)
    const stream = this.#stream ?? (await this.#admitWithoutToken(message))
    if (stream === undefined) return
    const { streams, tableRequests, channelRequests } = this.#deps
    await streams.verifyAgain(stream)
    if (!stream.isOpen) return
    const reply = (members?: object) => this.#reply(message, members)
    switch (message.type) {
      case 'subscribe':
        return await tableRequests.subscribe(stream, message, reply)
      case 'unsubscribe':
        return await tableRequests.unsubscribe(stream, message, reply)
      default:
        if (stream.listener === withoutToken) throw httpErrors.authenticationRequired()
        return await channelRequests.handle(stream, message, {
          reply,
          refuse: (error) => this.#refuse(message, error),
        })
    }
  }

  /**
   * Admits a client without a token if it subscribes to tables that are open to everyone.
   *
   * @returns undefined if the WebSocket was closed instead
   * @throws AppError authentication_required, tables_required, no_valid_table
   */
  async #admitWithoutToken(message: ClientMessage): Promise<Stream | undefined> {
    const { planner } = this.#deps
    if (message.type !== 'subscribe' || !(await planner.admitsAnonymous(tablesOf(message)))) {
      throw httpErrors.authenticationRequired()
    }
    return await this.#admit(withoutToken, message)
  }

  async #authenticate(message: ClientMessage): Promise<void> {
    const { anonymous, authenticate, streams, channels } = this.#deps
    const { token } = message.members
    if (anonymous === undefined) {
      if (typeof token !== 'string' || token === '') throw realtimeErrors.missingToken()
      const listener = await authenticate(token)
      if (listener === undefined) throw realtimeErrors.authenticationFailed()
      const stream = this.#stream
      if (stream === undefined) {
        if (await this.#admit(listener, message)) this.#reply(message)
        return
      }
      if (stream.listener === withoutToken) throw realtimeErrors.streamWithoutToken()
      const { userId, appId } = stream.listener
      if (userId !== listener.userId || appId !== listener.appId) throw realtimeErrors.authenticationFailed()
      for (const table of stream.subscriptions.keys()) requireTable(listener.scope, table)
      if (stream.channels.size > 0) requireChannelGrant(listener.scope)
      stream.renew(listener)
      // For policies the listener may be another identity, with another session or a second factor.
      if (stream.subscriptions.size > 0) await streams.feed.reattach(stream)
      channels.invalidate(stream)
    }
    this.#reply(message)
  }

  /**
   * Admits the stream.
   *
   * @param message message that requests it
   * @returns undefined if the WebSocket was closed instead
   */
  async #admit(listener: Listener, message?: ClientMessage): Promise<Stream | undefined> {
    const { streams, channels } = this.#deps
    clearTimeout(this.#authentication)
    const hooks: StreamHooks = {
      onTick: (stream, now) => this.#endIfIdle(stream, now),
      onEnd: (stream) => channels.removeStream(stream),
    }
    const stream = new Stream(this.#transport, listener, this.address, streams, { id: this.id, hooks })
    this.#stream = stream
    this.#idleSince = performance.now()
    try {
      await streams.admit(stream)
      return stream
    } catch (error) {
      if (message !== undefined) this.#refuse(message, error)
      this.#closeRefused(error)
      return undefined
    }
  }

  #closeRefused(error: unknown): void {
    const known = error instanceof AppError ? error : undefined
    if (known?.kind === 'shutting_down') this.close(1001, known.message)
    else if (known?.status === 429) this.close(4008, known.message)
    else {
      this.#describe(error)
      this.close(1011, 'internal error; reconnect with last_event_id to resume')
    }
  }

  #reply({ ref }: ClientMessage, members: object = {}): void {
    this.#send({ type: 'reply', ...(ref === undefined ? {} : { ref }), status: 'ok', ...members })
  }

  #refuse(message: ClientMessage, error: unknown): void {
    this.#reply(message, { status: 'error', message: this.#describe(error) })
  }

  #send(message: object): void {
    const text = JSON.stringify(message)
    if (this.#stream !== undefined) {
      this.#stream.send([text])
      return
    }
    this.#transport.send([text])
    if (this.#transport.pendingBytes > unauthenticatedPendingBytes) this.#transport.cutOff()
  }

  /** Returns the message of a failure for the client. The cause of an internal error is logged. */
  #describe(error: unknown): string {
    const known = error instanceof AppError ? error : translateDatabaseFailure(error)
    if (known !== undefined) return known.message
    this.#deps.log.error({ err: error }, 'failed to handle a WebSocket message')
    return httpErrors.internalError().message
  }
}
