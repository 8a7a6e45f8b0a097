import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import type { LiveCatalog } from '../../../../database/catalog/live-catalog.ts'
import { translateDatabaseFailure } from '../../../../database/errors/error-translation.ts'
import { refuseAdministrator } from '../../../../http/access/authentication.ts'
import { anonymousIdentity, type Identity, type Verdict } from '../../../../http/access/identity.ts'
import { httpErrors } from '../../../../http/errors/errors.ts'
import type { StreamOperation } from '../../../../http/observation/request-observer.ts'
import { AppError, messageOf } from '../../../../lib/errors.ts'
import type { JsonObject } from '../../../../lib/json.ts'
import { callerOfIdentity } from '../../../data/collections/index.ts'
import {
  describeFailure,
  type GraphqlOperations,
  graphqlErrors,
  type RequestedSubscription,
} from '../../../data/graphql/index.ts'
import { realtimeErrors } from '../errors.ts'
import { listenerOf, Stream } from '../stream.ts'
import type { Streams } from '../streams.ts'
import type { Credentials } from '../websocket/websocket-session.ts'
import type { WebSocketTiming } from '../websocket/websocket-timing.ts'
import { formatNextMessage, parseClientMessage } from './messages.ts'
import { OperationQueue, waitingLimit } from './operation-queue.ts'
import { type SocketTransport, SubscriptionTransport } from './socket-transports.ts'
import { planStream, type SubscribingDeps } from './subscribing.ts'

/** Maximum bytes of a message before the acknowledgement, which holds a token. */
const initLimitBytes = 16 * 1024
/** Maximum bytes buffered for a client without an acknowledgement. */
const unauthenticatedPendingBytes = 64 * 1024
/** Pending bytes up to which the result of another operation is sent. */
const resultPendingBytes = 256 * 1024
/** Maximum number of subscriptions over one WebSocket. */
const subscriptionLimit = 100
/** Maximum bytes of a close reason (RFC 6455 §5.5). */
const reasonLimitBytes = 123

export interface GraphqlSocketDeps extends SubscribingDeps {
  readonly streams: Streams
  readonly live: LiveCatalog
  readonly verify: (token: string) => Verdict | Promise<Verdict>
  /** Counts a request of an app, a user and an address. @returns the error with which it is rejected */
  readonly countRequest: (identity: Identity, address: string) => Promise<AppError | undefined>
  /** Identity of every client while auth is off; undefined while it is on. */
  readonly openIdentity: Identity | undefined
  readonly timing: WebSocketTiming
  readonly log: Logger
}

/** Request that became the WebSocket. */
export interface SocketRequest {
  /** Key of the network address, by which sockets are counted. */
  readonly address: string
  readonly ip: string
  readonly requestId: string
  readonly credentials: Credentials
  readonly operations: GraphqlOperations
  /** Reports an operation that was run. */
  readonly report: (operation: StreamOperation) => void
}

/** Operation that has not completed. */
interface ActiveOperation {
  isDone: boolean
  /** True once it is run as the caller. */
  isStarted: boolean
  subscription?: { readonly stream: Stream; readonly transport: SubscriptionTransport }
}

/** Conversation with one client by `graphql-transport-ws`. */
export class GraphqlSocket {
  readonly id = randomUUID()
  readonly #deps: GraphqlSocketDeps
  readonly #transport: SocketTransport
  readonly #request: SocketRequest
  readonly #active = new Map<string, ActiveOperation>()
  readonly #initialization: NodeJS.Timeout
  readonly #queue: OperationQueue
  #isInitializing = false
  #isAcknowledged = false
  /** Token of the client; undefined without one. */
  #token: string | undefined
  /** Stream as which the WebSocket is counted. */
  #carrier: Stream | undefined

  constructor(deps: GraphqlSocketDeps, transport: SocketTransport, request: SocketRequest) {
    this.#deps = deps
    this.#transport = transport
    this.#request = request
    this.#queue = new OperationQueue(transport)
    this.#initialization = setTimeout(
      () => this.close(4408, 'Connection initialisation timeout'),
      deps.timing.authenticationMs,
    ).unref()
  }

  get address(): string {
    return this.#request.address
  }

  /** True if the client is counted as a stream. */
  get isAdmitted(): boolean {
    return this.#carrier !== undefined
  }

  receive(data: Buffer, isBinary: boolean): void {
    if (!this.#transport.isOpen) return
    if (!this.#isAcknowledged && data.length > initLimitBytes) {
      this.close(1009, `message exceeds ${initLimitBytes} bytes before connection_ack`)
      return
    }
    if (isBinary) {
      this.close(4400, 'expected a text message')
      return
    }
    const message = parseClientMessage(data.toString('utf8'))
    switch (message.type) {
      case 'invalid':
        this.close(4400, message.problem)
        return
      case 'ping':
        this.#send([JSON.stringify({ type: 'pong', payload: message.payload })])
        return
      case 'pong':
        return
      case 'connection_init':
        if (this.#isInitializing) this.close(4429, 'Too many initialisation requests')
        else void this.#initialize(message.payload)
        return
      case 'complete':
        this.#remove(message.id)
        return
      case 'subscribe':
        this.#start(message.id, message.payload)
    }
  }

  /** Sends a ping, once the client is acknowledged. */
  ping(): void {
    if (this.#isAcknowledged) this.#transport.send(['{"type":"ping"}'])
  }

  /** Closes from the server side with a reason that streams do not have. */
  close(code: number, reason: string): void {
    this.#transport.close(code, shortenReason(reason))
    this.disconnect()
  }

  /** Ends all operations, because the socket has closed or is about to close. */
  disconnect(): void {
    clearTimeout(this.#initialization)
    for (const id of [...this.#active.keys()]) this.#remove(id)
    this.#carrier?.disconnect()
  }

  async #initialize(payload: JsonObject): Promise<void> {
    const { streams } = this.#deps
    this.#isInitializing = true
    clearTimeout(this.#initialization)
    try {
      const offered = offeredToken(payload) ?? this.#request.credentials
      if (typeof offered === 'object') this.#token = offered.token
      const identity = offered === 'malformed' ? this.#refuseToken() : await this.#identify()
      if (identity === undefined) return
      await this.#count(identity)
      if (!this.#transport.isOpen) return
      const carrier = new Stream(this.#transport, listenerOf(identity, this.#token), this.address, streams, {
        id: this.id,
        hooks: {
          onTick: () => this.#checkSchema(),
          onEnd: () => this.disconnect(),
          tables: () => this.#tables,
        },
      })
      this.#carrier = carrier
      await streams.admit(carrier)
      if (!carrier.isOpen) return
      this.#isAcknowledged = true
      carrier.send(['{"type":"connection_ack"}'])
    } catch (error) {
      this.#closeRefused(error)
    }
  }

  /**
   * Returns the caller of the next operation, whose token is still valid.
   *
   * @returns undefined if the WebSocket was closed instead
   */
  async #identify(): Promise<Identity | undefined> {
    const { openIdentity, verify } = this.#deps
    if (openIdentity !== undefined) return openIdentity
    if (this.#token === undefined) {
      return (await this.#request.operations.admitsAnonymous())
        ? anonymousIdentity
        : this.#refuseToken('missing token')
    }
    const verdict = await verify(this.#token)
    if ('refusal' in verdict) {
      if (verdict.refusal !== 'pending') return this.#refuseToken()
      this.close(4403, httpErrors.mfaRequired().message)
      return undefined
    }
    const { identity } = verdict
    const refusal =
      identity.kind === 'admin'
        ? refuseAdministrator(identity, { permission: 'rows.read' }, this.#request.ip)
        : undefined
    if (refusal === undefined) return identity
    this.close(4403, refusal.message)
    return undefined
  }

  /** @throws AppError too_many_requests, app_rate_limit_exceeded, usage_limit_exceeded */
  async #count(identity: Identity): Promise<void> {
    const refusal = await this.#deps.countRequest(identity, this.#request.address)
    if (refusal !== undefined) throw refusal
  }

  #refuseToken(reason = 'invalid or expired token'): undefined {
    this.close(4401, reason)
    return undefined
  }

  #start(id: string, payload: string): void {
    if (!this.#isAcknowledged) {
      this.close(4401, 'Unauthorized')
      return
    }
    if (this.#active.has(id)) {
      this.close(4409, `Subscriber for ${id} already exists`)
      return
    }
    const operation: ActiveOperation = { isDone: false, isStarted: false }
    this.#active.set(id, operation)
    if (this.#queue.add(() => this.#run(id, operation, payload))) return
    void this.#fail(id, operation, realtimeErrors.tooManyOperations(waitingLimit))
  }

  async #run(id: string, operation: ActiveOperation, payload: string): Promise<void> {
    if (operation.isDone) return
    const { address, requestId, operations, report } = this.#request
    const startedAt = performance.now()
    let identity: Identity | undefined
    let status = 200
    try {
      if (this.#carrier !== undefined) await this.#deps.streams.verifyAgain(this.#carrier)
      if (!operation.isDone) identity = await this.#identify()
      if (identity === undefined || operation.isDone) return
      await this.#count(identity)
      operation.isStarted = true
      const caller = callerOfIdentity(identity, {
        requestId,
        address: () => address,
        isAbandoned: () => operation.isDone,
      })
      const result = await operations.run(payload, caller)
      if (operation.isDone) return
      if (typeof result === 'string') await this.#complete(id, operation, `{"data":${result}}`)
      else await this.#subscribe(id, operation, identity, result)
    } catch (error) {
      status = await this.#fail(id, operation, error)
    }
    report({ identity, status, durationMs: performance.now() - startedAt })
  }

  async #subscribe(
    id: string,
    operation: ActiveOperation,
    identity: Identity,
    requested: RequestedSubscription,
  ): Promise<void> {
    const { streams, live, log } = this.#deps
    const carrier = this.#carrier
    if (carrier === undefined) return
    const transport = new SubscriptionTransport({
      connection: this.#transport,
      id,
      plan: requested.plan,
      live,
      onEnd: (ending) => carrier.end(ending),
      onSchemaChange: () => void this.#fail(id, operation, graphqlErrors.schemaChanged()),
    })
    const stream = new Stream(transport, listenerOf(identity, this.#token), this.address, streams, {
      id: this.id,
    })
    operation.subscription = { stream, transport }
    const { length } = this.#subscriptions
    if (length > subscriptionLimit) throw realtimeErrors.tooManySubscriptions(subscriptionLimit)
    const subscribe = await planStream(this.#deps, stream, requested)
    if (operation.isDone) return
    streams.attach(stream, carrier)
    let isInForce = false
    try {
      await subscribe((start) => {
        isInForce = true
        if (requested.isReadySent) stream.send([transport.readyFrame(start.id)])
        if (start.hasGap) transport.gap(start.id)
      })
    } catch (error) {
      if (!isInForce) throw error
      log.warn({ reason: messageOf(error) }, 'failed to continue a subscription; closing its WebSocket')
      carrier.end('server_error')
    }
  }

  /** Sends the only result of an operation, once the client has read most of those before it. */
  async #complete(id: string, operation: ActiveOperation, payload: string): Promise<void> {
    const { readMs } = this.#deps.timing
    while (!operation.isDone && this.#transport.pendingBytes > resultPendingBytes) {
      await this.#transport.drainedWithin(readMs, () => this.#carrier?.end('slow_client'))
    }
    // Nothing is awaited between the check and the result, so that of many results one is sent.
    if (operation.isDone) return
    this.#remove(id)
    this.#send([formatNextMessage(id, payload), JSON.stringify({ id, type: 'complete' })])
  }

  /**
   * Sends an error, which ends the operation: no `complete` follows (GraphQL over WebSocket Protocol, Complete). A query or
   * mutation that was run and failed has a result instead.
   *
   * @returns the status of the error
   */
  async #fail(id: string, operation: ActiveOperation, error: unknown): Promise<number> {
    const { errors, isOfRequest, result, status } = this.#describe(error)
    if (operation.isStarted && operation.subscription === undefined && !isOfRequest) {
      await this.#complete(id, operation, JSON.stringify(result))
    } else if (!operation.isDone) {
      this.#remove(id)
      this.#send([JSON.stringify({ id, type: 'error', payload: errors })])
    }
    return status
  }

  /** Returns what the client is sent of a failure. The cause of an internal error is logged. */
  #describe(error: unknown) {
    const known = describeFailure(error) ?? describeFailure(translateDatabaseFailure(error))
    if (known !== undefined) return known
    this.#deps.log.error({ err: error }, 'failed to run a GraphQL operation of a WebSocket')
    const message = httpErrors.internalError()
    const errors = [{ message: message.message, extensions: { code: message.kind } }]
    return { errors, isOfRequest: false, result: { data: null, errors }, status: message.status }
  }

  #remove(id: string): void {
    const operation = this.#active.get(id)
    if (operation === undefined) return
    this.#active.delete(id)
    operation.isDone = true
    operation.subscription?.stream.disconnect()
  }

  get #subscriptions() {
    return [...this.#active.values()].flatMap(({ subscription }) => subscription ?? [])
  }

  get #tables(): readonly string[] {
    return [...new Set(this.#subscriptions.flatMap(({ stream }) => [...stream.subscriptions.keys()]))]
  }

  /** Ends subscriptions whose tables no longer fit them. */
  #checkSchema(): void {
    for (const { transport } of this.#subscriptions) transport.checkSchema()
  }

  #closeRefused(error: unknown): void {
    const known = error instanceof AppError ? error : translateDatabaseFailure(error)
    if (known?.kind === 'shutting_down') this.close(1001, known.message)
    else if (known?.status === 429) this.close(4008, known.message)
    else if (known !== undefined) this.close(1013, known.message)
    else {
      this.#describe(error)
      this.close(1013, 'internal error; reconnect')
    }
  }

  #send(frames: readonly string[]): void {
    if (this.#isAcknowledged) {
      this.#carrier?.send(frames)
      return
    }
    this.#transport.send(frames)
    if (this.#transport.pendingBytes > unauthenticatedPendingBytes) this.#transport.cutOff()
  }
}

/** Returns the token of `connection_init`; undefined without one. */
function offeredToken({ token, ...payload }: JsonObject): Exclude<Credentials, 'nothing'> | undefined {
  const header = payload.Authorization ?? payload.authorization
  const offered = header ?? token
  if (offered === undefined || offered === null || offered === '') return undefined
  if (typeof offered !== 'string') return 'malformed'
  const text = header === undefined ? offered : offered.replace(/^bearer +/i, '')
  return text.trim() === '' ? 'malformed' : { token: text.trim() }
}

/** Cuts a reason to the bytes that a close frame can hold. */
function shortenReason(reason: string): string {
  let text = reason.slice(0, reasonLimitBytes)
  while (Buffer.byteLength(text) > reasonLimitBytes) text = text.slice(0, -1)
  // Half a surrogate pair would be no UTF-8.
  return text.toWellFormed()
}
