import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { type Check, failure, ok } from '../check.ts'
import { CheckSkipped } from '../check-skipped.ts'
import { open } from '../exchange.ts'

const arrivalMs = 5000

/**
 * Check that the proxy does not buffer event streams: the first event arrives while the stream is open. The
 * stream waits for a sign-in in another window. It needs no token and names no table.
 */
export const eventStreams: Check = {
  id: 'event_streams',
  timeoutMs: 15_000,
  async run({ config, publicAddress, signal }) {
    await publicAddress.requireServer()
    if (!config.auth.enabled) throw new CheckSkipped('auth.enabled is false: every stream needs a table')
    const end = new AbortController()
    const buffered = failure(
      'event_streams',
      `no event arrived within ${arrivalMs / 1000} s on an open stream: the proxy buffers /api/realtime`,
      'proxy_buffering off; proxy_http_version 1.1;   # nginx, in location /api/realtime (deploy/nginx.conf)',
    )
    try {
      const arrived = openStream(
        publicAddress.at('/api/realtime?oauth=true'),
        AbortSignal.any([signal, end.signal]),
      )
      const late = delay(arrivalMs, buffered, { signal: end.signal, ref: false })
      // One of the two is still pending when the other settles, and is aborted.
      late.catch(() => undefined)
      arrived.catch(() => undefined)
      return [await Promise.race([arrived, late])]
    } finally {
      end.abort()
    }
  },
}

async function openStream(url: URL, signal: AbortSignal) {
  const { response, status } = await open(url, { headers: { accept: 'text/event-stream' }, signal })
  if (status !== 200) throw new CheckSkipped(`the stream was refused with ${status}`)
  const [first] = (await once(response, 'data', { signal })) as [Buffer]
  if (!first.toString('utf8').includes('event:') && !first.toString('utf8').startsWith('retry:')) {
    return failure(
      'event_streams',
      'the proxy changes event streams: the first bytes are no event',
      'proxy_buffering off; gzip off;   # nginx, in location /api/realtime',
    )
  }
  return ok('event_streams', 'events arrive while the stream is open')
}
