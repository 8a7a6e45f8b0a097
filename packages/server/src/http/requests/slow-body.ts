import type { Socket } from 'node:net'
import { PassThrough, type Readable } from 'node:stream'
import type { AppError } from '../../lib/errors.ts'

/** Connections whose current request may take longer than `server.request_timeout`. */
const sockets = new WeakSet<Socket>()

/** Maximum number of body bytes that wait to be processed. */
const bufferBytes = 256 * 1024

export interface SlowBody {
  readonly socket: Socket
  /** Body as the client sends it. */
  readonly payload: Readable
  readonly timeoutMs: number
  /** Returns the error of the reader when the time is up. */
  readonly timedOut: () => AppError
  /**
   * Idle time in milliseconds before the body ends, for a reader that keeps the received part. A disconnect and
   * the time limit then end the body, too, instead of failing it.
   */
  readonly endsAfterIdleMs?: number
}

/**
 * Opens the body of a request as a stream with a time limit of its own. Destroying the stream, as leaving a
 * loop over it does, keeps the connection. The rest of the upload is dropped, so that the client can read the
 * response.
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
  // The reader gets its error. Without a reader the error must not end the process.
  body.on('error', () => undefined)
  payload.pipe(body)
  // The connection was cut before the body was opened, so no event follows.
  if (payload.destroyed) leave()
  return body
}

/**
 * Calls back after an idle time.
 *
 * @returns a function that ends the watch
 */
function onIdle(
  { payload, body }: { readonly payload: Readable; readonly body: Readable },
  idleMs: number,
  callback: () => void,
): () => void {
  // While there is something to read, the client is not the slow side.
  const timer = setTimeout(() => (body.readableLength > 0 ? timer.refresh() : callback()), idleMs)
  const refresh = () => timer.refresh()
  payload.on('data', refresh)
  return () => {
    clearTimeout(timer)
    payload.off('data', refresh)
  }
}

/** Returns true if the current request of this connection has a time limit of its own. */
export function hasSlowBody(socket: Socket): boolean {
  return sockets.has(socket)
}
