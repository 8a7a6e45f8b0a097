import type { FastifyReply } from 'fastify'

/** Whether the client has disconnected before it had the whole answer. */
export function hasDisconnected({ raw }: FastifyReply): boolean {
  return raw.destroyed && !raw.writableFinished
}
