import type { FastifyReply } from 'fastify'

/** Returns true if the client has disconnected before it had the whole response. */
export function hasDisconnected({ raw }: FastifyReply): boolean {
  return raw.destroyed && !raw.writableFinished
}

/** Returns a signal that is aborted when the client disconnects before it has the whole response. */
export function untilDisconnected({ raw }: Pick<FastifyReply, 'raw'>): AbortSignal {
  const controller = new AbortController()
  const leave = () => {
    if (!raw.writableFinished) controller.abort(new Error('the client has disconnected'))
  }
  if (raw.destroyed) leave()
  else raw.once('close', leave)
  return controller.signal
}
