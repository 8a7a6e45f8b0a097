import type { FastifyReply, FastifyRequest } from 'fastify'

/** Interval at which the administrator of a long response is verified. */
const checkMs = 1000

/**
 * Returns a signal that is aborted once the guard would no longer admit the administrator of the request. For other
 * callers it is never aborted.
 */
export function untilRefused(
  { isStillAdmitted }: FastifyRequest,
  { raw }: Pick<FastifyReply, 'raw'>,
): AbortSignal {
  const controller = new AbortController()
  // A client that has left already closes nothing any more.
  if (isStillAdmitted === undefined || raw.destroyed) return controller.signal
  const timer = setInterval(() => {
    // While the database is unavailable, the verdict is unknown.
    void isStillAdmitted().then(
      (isAdmitted) => {
        if (!isAdmitted) controller.abort(new Error('the session of the administrator has ended'))
      },
      () => undefined,
    )
  }, checkMs).unref()
  const stop = () => clearInterval(timer)
  raw.once('close', stop)
  controller.signal.addEventListener('abort', stop, { once: true })
  return controller.signal
}
