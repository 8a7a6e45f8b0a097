import type { FastifyReply, FastifyRequest } from 'fastify'

/** Interval at which the caller of a long response is verified. */
const checkMs = 1000

/**
 * Returns a signal that is aborted once the guard would no longer admit the administrator of the request. For other
 * callers it is never aborted.
 */
export function untilRefused({ isStillAdmitted }: FastifyRequest, reply: Closing): AbortSignal {
  return until(isStillAdmitted, reply, 'the session of the administrator has ended')
}

/**
 * Returns a signal that is aborted once the guard would no longer admit the token of the user. For other callers it is
 * never aborted.
 */
export function untilSignedOut({ isStillSignedIn }: FastifyRequest, reply: Closing): AbortSignal {
  return until(isStillSignedIn, reply, 'the session has ended')
}

type Closing = Pick<FastifyReply, 'raw'>

function until(check: (() => Promise<boolean>) | undefined, { raw }: Closing, reason: string): AbortSignal {
  const controller = new AbortController()
  // A client that has left already closes nothing any more.
  if (check === undefined || raw.destroyed) return controller.signal
  const timer = setInterval(() => {
    // While the database is unavailable, the verdict is unknown.
    void check().then(
      (isAdmitted) => {
        if (!isAdmitted) controller.abort(new Error(reason))
      },
      () => undefined,
    )
  }, checkMs).unref()
  const stop = () => clearInterval(timer)
  raw.once('close', stop)
  controller.signal.addEventListener('abort', stop, { once: true })
  return controller.signal
}
