import { AsyncLocalStorage } from 'node:async_hooks'
import type { ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { untilDisconnected } from '../responses/disconnection.ts'

const responses = new AsyncLocalStorage<ServerResponse>()

/**
 * Makes {@link clientSignal} available during requests. Reads are the most frequent requests and wait in no
 * queue of ours, so they are not tracked.
 */
export function trackClients(app: FastifyInstance): void {
  app.addHook('preHandler', (request, reply, done) => {
    if (request.method === 'GET' || request.method === 'HEAD') done()
    else responses.run(reply.raw, done)
  })
}

/**
 * Returns a signal that is aborted when the client of the request in flight disconnects before it has the
 * response. The request then gives up its slot in every queue. Returns undefined outside of requests.
 */
export function clientSignal(): AbortSignal | undefined {
  const raw = responses.getStore()
  return raw === undefined ? undefined : untilDisconnected({ raw })
}
