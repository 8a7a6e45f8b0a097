import type { FastifyReply } from 'fastify'

/** Whether the client has disconnected before it had the whole answer. */
export function hasDisconnected({ raw }: FastifyReply): boolean {
  return raw.destroyed && !raw.writableFinished
}

/** Aborted when the client leaves before it has the whole answer. */
export function untilDisconnected({ raw }: Pick<FastifyReply, 'raw'>): AbortSignal {
  const controller = new AbortController()
  const leave = () => {
    if (!raw.writableFinished) controller.abort(new Error('the client has disconnected'))
  }
  if (raw.destroyed) leave()
  else raw.once('close', leave)
  return controller.signal
}
