import { codeOf } from '../../../lib/errors.ts'

/** Documented request of a provider, always a POST. */
export interface OutgoingRequest {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

export interface Reply {
  readonly status: number
  /** Text of the response, at most {@link replyLimit} bytes. */
  readonly text: string
}

/** Maximum size of a response in bytes. Real ones have a few hundred. */
export const replyLimit = 64 * 1024

/**
 * Sends a request and reads the response, all of it within the time limit. Redirects are not followed,
 * because they would send the message and the credentials to another host.
 *
 * @throws Error whose message names the fault and contains nothing of the request
 */
export async function post(outgoing: OutgoingRequest, timeoutMs: number): Promise<Reply> {
  const request = createRequest(outgoing, AbortSignal.timeout(timeoutMs))
  try {
    const response = await fetch(request)
    return { status: response.status, text: await readStart(response) }
  } catch (error) {
    // The error of fetch is not passed on, as for the request below.
    throw new Error(faultOf(error, timeoutMs))
  }
}

function createRequest({ url, headers, body }: OutgoingRequest, signal: AbortSignal): Request {
  try {
    return new Request(url, {
      method: 'POST',
      headers: { 'user-agent': 'Basalt', ...headers },
      body,
      redirect: 'manual',
      signal,
    })
  } catch {
    // The error quotes the rejected address or header, which may contain a key.
    throw new Error('the request cannot be made: check the address and the keys in the configuration')
  }
}

async function readStart(response: Response): Promise<string> {
  const chunks: Uint8Array[] = []
  let size = 0
  // Leaving the loop early closes the connection, so the rest is never sent.
  for await (const chunk of response.body ?? []) {
    chunks.push(chunk)
    size += chunk.length
    if (size >= replyLimit) break
  }
  return Buffer.concat(chunks).subarray(0, replyLimit).toString('utf8')
}

function faultOf(error: unknown, timeoutMs: number): string {
  if (!(error instanceof Error)) return 'the connection failed'
  if (error.name === 'TimeoutError') return `no answer within ${timeoutMs / 1000} s`
  const code = codeOf(error) ?? codeOf(error.cause)
  return code === undefined ? 'the connection failed' : `the connection failed: ${code}`
}
