import type { EventEmitter } from 'node:events'
import type { Server } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../lib/clock.ts'
import { type Identity, unattributed } from '../access/identity.ts'

/** Completed request. It never contains the query string or a header, because both can carry secrets. */
export interface AnsweredRequest {
  readonly at: Date
  readonly requestId: string
  readonly method: string
  readonly path: string
  /** Pattern of the route, `/api/collections/:table`; undefined when no route matched. */
  readonly route: string | undefined
  readonly operation: string | undefined
  readonly status: number
  /** Time until the end of the response, or until a stream opened. */
  readonly durationMs: number
  readonly caller: 'user' | 'admin' | 'anonymous'
  readonly appId: string
  readonly keyId: string | undefined
  readonly userId: string | undefined
  /** Administrator who acted as the user. */
  readonly impersonator: string | undefined
  readonly address: string | undefined
  /** Bytes on the connection since its previous request. */
  readonly bytesIn: number
  readonly bytesOut: number
}

/** Connection that has become a stream. */
export interface OpenedStream {
  readonly appId: string
  readonly operation: string | undefined
  /** Returns the bytes since its previous call. */
  takeTraffic(): Traffic
  onClose(listener: () => void): void
}

export interface Traffic {
  readonly bytesIn: number
  readonly bytesOut: number
}

/**
 * Observer of completed requests. It is called on the path of every request, so it must neither wait nor throw.
 */
export interface RequestObserver {
  onAnswer?(request: AnsweredRequest): void
  onStream?(stream: OpenedStream): void
}

interface Observation {
  readonly observers: readonly RequestObserver[]
  readonly clock: Clock
}

const observationOf = new WeakMap<Server, Observation>()

/** Bytes that were already counted, by connection. */
const counted = new WeakMap<Socket, { bytesIn: number; bytesOut: number }>()

function takeTraffic(socket: Socket): Traffic {
  let before = counted.get(socket)
  if (before === undefined) {
    before = { bytesIn: 0, bytesOut: 0 }
    counted.set(socket, before)
  }
  const bytesIn = socket.bytesRead - before.bytesIn
  const bytesOut = socket.bytesWritten - before.bytesOut
  before.bytesIn += bytesIn
  before.bytesOut += bytesOut
  return { bytesIn, bytesOut }
}

/** Time until a request became a stream. The rest of its response is no latency. */
const openedAfter = new WeakMap<FastifyRequest, number>()

/**
 * Passes every completed request to the observers.
 *
 * @param isOmitted condition of requests that they do not observe unless they failed
 */
export function addRequestObservers(
  app: FastifyInstance,
  observers: readonly RequestObserver[],
  { clock, isOmitted }: { readonly clock: Clock; isOmitted(request: FastifyRequest): boolean },
): void {
  const observation = { observers, clock }
  observationOf.set(app.server, observation)
  app.addHook('onResponse', (request, reply, done) => {
    if (reply.statusCode < 500 && isOmitted(request)) {
      // Otherwise the next request of the connection would have these bytes, too.
      takeTraffic(request.raw.socket)
    } else {
      notify(observation, request, {
        ...{ identity: request.identity, pendingUserId: request.pending?.userId },
        ...{ method: request.method, status: reply.statusCode },
        durationMs: openedAfter.get(request) ?? reply.elapsedTime,
      })
    }
    done()
  })
}

/** Operation that a client has run over its stream. */
export interface StreamOperation {
  readonly identity: Identity | undefined
  /** Status that a request would have had. */
  readonly status: number
  readonly durationMs: number
}

/**
 * Reports an operation over the WebSocket of a request to the observers, like a request with the method `WS`.
 *
 * @param name of the operation
 */
export function noteOperation(request: FastifyRequest, name: string, operation: StreamOperation): void {
  const observation = observationOf.get(request.server.server)
  if (observation !== undefined) notify(observation, request, { ...operation, name, method: 'WS' })
}

interface Outcome {
  readonly identity: Identity | undefined
  /** Name of the operation, where it is not that of the route. */
  readonly name?: string
  /** User whose second factor is due. */
  readonly pendingUserId?: string | undefined
  readonly method: string
  readonly status: number
  readonly durationMs: number
}

function notify(
  { observers, clock }: Observation,
  request: FastifyRequest,
  { identity, name, pendingUserId, method, status, durationMs }: Outcome,
): void {
  const { appId, keyId } = identity ?? unattributed
  // Fastify creates this object at each access.
  const { url, config } = request.routeOptions
  const user = identity?.kind === 'user' ? identity : undefined
  const isUser = user !== undefined || pendingUserId !== undefined
  const { bytesIn, bytesOut } = takeTraffic(request.raw.socket)
  const answered: AnsweredRequest = {
    at: clock.now(),
    requestId: request.id,
    method,
    path: pathOf(request),
    route: url,
    operation: name ?? config.operation,
    status,
    durationMs,
    caller: identity?.kind === 'admin' ? 'admin' : isUser ? 'user' : 'anonymous',
    appId,
    keyId,
    userId: user === undefined ? pendingUserId : user.userId,
    impersonator: user?.impersonator,
    address: request.ip,
    bytesIn,
    bytesOut,
  }
  for (const observer of observers) observer.onAnswer?.(answered)
}

/**
 * Reports to the observers that a request's connection has become a stream.
 *
 * @param carrier closes when the stream does
 */
export function noteStream({ request, elapsedTime }: FastifyReply, carrier: EventEmitter): void {
  const { raw } = request
  openedAfter.set(request, elapsedTime)
  const observers = observationOf.get(request.server.server)?.observers ?? []
  const stream: OpenedStream = {
    appId: (request.identity ?? unattributed).appId,
    operation: request.routeOptions.config.operation,
    takeTraffic: () => takeTraffic(raw.socket),
    onClose: (listener) => carrier.once('close', listener),
  }
  for (const observer of observers) observer.onStream?.(stream)
}

function pathOf({ url }: Pick<FastifyRequest, 'url'>): string {
  return maskTokens(url.split('?', 1)[0] ?? '')
}

/** Masks tokens and keys that a client has put into a path. It recognizes them by their form. */
function maskTokens(path: string): string {
  if (!path.includes('basalt_') && !path.includes('eyJ')) return path
  return path
    .replaceAll(/(basalt_[a-z]+_)[\w-]{16,}/g, '$1[redacted]')
    .replaceAll(/eyJ[\w-]{8,}\.[\w-]+\.[\w-]+/g, '[redacted]')
}
