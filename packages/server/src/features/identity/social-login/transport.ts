import type { Outbound } from '../../../http/outbound.ts'
import { ProviderFailure } from './providers/provider.ts'

/** Maximum size of a response in bytes. */
const responseLimit = 256 * 1024
const standardTimeoutMs = 10_000

export interface Sending {
  readonly method?: string | undefined
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string | undefined
}

/** Function that sends a request to a provider. @throws ProviderFailure unless a complete response arrives */
export type Transport = (url: string, sending?: Sending) => Promise<Response>

/** Creates a transport. @param reach replaces addresses, for tests */
export function createTransport(
  outbound: Outbound,
  reach: (url: string) => string = (url) => url,
  timeoutMs = standardTimeoutMs,
): Transport {
  return async (url, { method = 'GET', headers = {}, body = '' } = {}) => {
    const reply = await outbound.post({
      url: reach(url),
      method,
      headers: { accept: 'application/json', 'user-agent': 'basalt', ...headers },
      body,
      timeoutMs,
      replyLimit: responseLimit,
    })
    const { origin, pathname } = new URL(url)
    const fail = (reason: string) => new ProviderFailure(`${method} ${origin}${pathname}: ${reason}`)
    if (reply.error !== undefined) throw fail(reply.error)
    if (reply.status === undefined || reply.status < 200 || reply.status > 599) throw fail('no usable status')
    if (Buffer.byteLength(reply.text) >= responseLimit) throw fail('the response is too long')
    const type = reply.headers['content-type']
    const isEmpty = [204, 205, 304].includes(reply.status)
    return new Response(isEmpty ? null : reply.text, {
      status: reply.status,
      headers: typeof type === 'string' ? { 'content-type': type } : {},
    })
  }
}
