import type { Origins } from '../../../../http/access/origins.ts'
import { httpErrors } from '../../../../http/errors/errors.ts'
import { noteOperation } from '../../../../http/observation/request-observer.ts'
import { addressKey } from '../../../../http/requests/client-address.ts'
import { upgradeOfferOf } from '../../../../http/requests/upgrade.ts'
import type { GraphqlStreams } from '../../../data/graphql/index.ts'
import { realtimeErrors } from '../errors.ts'
import { WebSocketHandshake } from '../websocket/websocket-handshake.ts'
import { credentialsOf, mayConnect } from '../websocket/websocket-route.ts'
import { openGraphqlEvents } from './event-stream.ts'
import { graphqlProtocol } from './messages.ts'
import type { GraphqlSocketDeps } from './socket.ts'
import { GraphqlSockets } from './sockets.ts'

export interface GraphqlStreamsDeps extends GraphqlSocketDeps {
  readonly origins: Origins
  /** Maximum bytes of a message, as of a request body. */
  readonly messageLimitBytes: number
}

/** Streams of GraphQL subscriptions, which end when the server stops. */
export interface OpenedGraphqlStreams extends GraphqlStreams {
  drain(): void
}

/** Creates the WebSockets and event streams that serve GraphQL subscriptions. */
export function createGraphqlStreams(deps: GraphqlStreamsDeps): OpenedGraphqlStreams {
  const { streams, origins, messageLimitBytes } = deps
  const sockets = new GraphqlSockets(deps)
  let handshake: WebSocketHandshake | undefined
  return {
    openSocket(request, reply, operations) {
      const offer = upgradeOfferOf(request)
      if (offer === undefined) throw realtimeErrors.upgradeRequired()
      streams.requireOpen()
      if (!mayConnect(request, origins)) throw realtimeErrors.originNotAllowed()
      if (deps.openIdentity !== undefined && !origins.mayCallWithoutToken(request)) {
        throw httpErrors.foreignPage()
      }
      const address = addressKey(request)
      handshake ??= new WebSocketHandshake(messageLimitBytes, graphqlProtocol)
      const socket = handshake.accept(request, reply, offer)
      if (socket === undefined) return
      const credentials = credentialsOf(request)
      sockets.open(socket, offer.socket, {
        ...{ address, ip: request.ip, requestId: request.id, credentials, operations },
        report: (operation) => noteOperation(request, 'graphql.run', operation),
      })
    },
    openEvents: async (request, reply, requested) => await openGraphqlEvents(deps, request, reply, requested),
    drain: () => sockets.drain(),
  }
}
