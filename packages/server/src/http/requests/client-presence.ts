import { AsyncLocalStorage } from 'node:async_hooks'
import type { ServerResponse } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { untilDisconnected } from '../responses/disconnection.ts'

const responses = new AsyncLocalStorage<ServerResponse>()

/** Lets what a request does ask whether its client still waits. Reads, which are the most frequent, wait in no queue of ours. */
export function trackClients(app: FastifyInstance): void {
  app.addHook('preHandler', (request, reply, done) => {
    if (request.method === 'GET' || request.method === 'HEAD') done()
    else responses.run(reply.raw, done)
  })
}

/**
 * Returns what is aborted when the client of the request in flight disconnects before it has the answer: it then gives up its
 * slot in every queue. Undefined outside of requests.
 */
export function clientSignal(): AbortSignal | undefined {
  const raw = responses.getStore()
  return raw === undefined ? undefined : untilDisconnected({ raw })
}
