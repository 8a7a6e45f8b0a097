import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Caller } from '../collections/index.ts'
import type { SubscriptionPlan } from './plan/subscription.ts'
import type { StreamExtensions } from './request.ts'

/** Subscription that a client requests. */
export interface RequestedSubscription extends StreamExtensions {
  readonly plan: SubscriptionPlan
}

/** Operations that the clients of one WebSocket may run. */
export interface GraphqlOperations {
  /**
   * Runs an operation.
   *
   * @param payload JSON text of the request
   * @returns the JSON text of `data`, or a subscription, which has not started
   * @throws RequestErrors, AppError
   */
  run(payload: string, caller: Caller): Promise<string | RequestedSubscription>
  /** Returns true if clients without a token may run operations. */
  admitsAnonymous(): boolean | Promise<boolean>
}

/** Streams that deliver subscriptions. The feature with the log of changes implements them. */
export interface GraphqlStreams {
  /** Accepts the handshake of a WebSocket. @throws AppError for a handshake that is refused */
  openSocket(request: FastifyRequest, reply: FastifyReply, operations: GraphqlOperations): void
  /**
   * Sends the changes as server-sent events.
   *
   * @throws AppError if the stream has not begun
   */
  openEvents(request: FastifyRequest, reply: FastifyReply, subscription: RequestedSubscription): Promise<void>
}
