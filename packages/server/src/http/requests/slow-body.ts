import type { Socket } from 'node:net'
import { PassThrough, type Readable } from 'node:stream'
import type { AppError } from '../../lib/errors.ts'

/** Connections whose present request may take longer than `server.request_timeout`. */
const sockets = new WeakSet<Socket>()

/** Bytes of a body that wait to be worked on. */
const bufferBytes = 256 * 1024

export interface SlowBody {
  readonly socket: Socket
  /** What the client sends. */
  readonly payload: Readable
  readonly timeoutMs: number
  /** What the reader gets when the time is up. */
  readonly timedOut: () => AppError
  /**
   * For a reader who keeps what has come: a disconnect, the end of the time and so many milliseconds without a byte are
   * the end of the body instead of an error.
   */
  readonly endsAfterIdleMs?: number
}

/**
 * The body of a request as a stream with a time limit of its own. Destroying it, as leaving a loop over it does, keeps the
 * connection: what the client still sends is dropped, so that it can read the answer.
 */
export function openSlowBody({ socket, payload, timeoutMs, timedOut, endsAfterIdleMs }: SlowBody): Readable {
  sockets.add(socket)
  const body = new PassThrough({ highWaterMark: bufferBytes })
  const fail = (error: Error) => {
    if (endsAfterIdleMs === undefined) {
      body.destroy(error)
      return
    }
    payload.unpipe(body)
    body.end()
  }
  const leave = () => {
    if (!payload.readableEnded)
      fail(Object.assign(new Error('the client has disconnected'), { code: 'ECONNRESET' }))
  }
  const timer = setTimeout(() => fail(timedOut()), timeoutMs)
  const stopWatching =
    endsAfterIdleMs === undefined
      ? undefined
      : onIdle({ payload, body }, endsAfterIdleMs, () => fail(timedOut()))
  payload.once('error', fail).once('close', leave)
  body.once('close', () => {
    clearTimeout(timer)
    stopWatching?.()
    sockets.delete(socket)
    payload.off('close', leave).unpipe(body)
    payload.resume()
  })
  // A reader gets its error; without one it must not end the process.
  body.on('error', () => undefined)
  payload.pipe(body)
  // Cut before it was opened: no event says so any more.
  if (payload.destroyed) leave()
  return body
}

/** @returns what ends the watch */
function onIdle(
  { payload, body }: { readonly payload: Readable; readonly body: Readable },
  idleMs: number,
  callback: () => void,
): () => void {
  // While there is something to read it is not the client that is slow.
  const timer = setTimeout(() => (body.readableLength > 0 ? timer.refresh() : callback()), idleMs)
  const refresh = () => timer.refresh()
  payload.on('data', refresh)
  return () => {
    clearTimeout(timer)
    payload.off('data', refresh)
  }
}

/** Whether the request on this connection has a time limit of its own. */
export function hasSlowBody(socket: Socket): boolean {
  return sockets.has(socket)
}
