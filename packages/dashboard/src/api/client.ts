import { createClient } from '@basaltdb/client'
import { isProxyResponse, noteConnected, noteDisconnected } from './connection.ts'
import { markSessionEnded } from './session-state.ts'

/**
 * Header of dashboard requests. The server only trusts the session cookie together with this header, which forms and images of
 * other pages cannot send.
 */
const dashboardHeaders = { 'x-basalt-dashboard': '1' } as const

/** Returns true for a proof of a second factor. Its 401 means a wrong code, not an ended session. */
function provesFactor(input: Parameters<typeof fetch>[0]): boolean {
  const address = input instanceof Request ? input.url : String(input)
  return /\/api\/admin\/account\/(step-up|factors\/totp\/confirm)$/.test(address)
}

/** Sends a request as `fetch` does. Detects an ended session and an unavailable server. */
export const sessionFetch: typeof fetch = async (input, init) => {
  const headers = new Headers(init?.headers)
  for (const [name, value] of Object.entries(dashboardHeaders)) headers.set(name, value)
  let response: Response
  try {
    response = await fetch(input, { ...init, headers, credentials: 'same-origin' })
  } catch (error) {
    if (init?.signal?.aborted !== true) noteDisconnected()
    throw error
  }
  if (await isProxyResponse(response)) noteDisconnected()
  else noteConnected()
  // A request with its own token says nothing about the session.
  if (response.status === 401 && !headers.has('authorization') && !provesFactor(input)) markSessionEnded()
  return response
}

/**
 * Client for tables: `client.from('posts')`. `get`, `post` and the other functions of `request.ts` call the rest of the API.
 */
export const client = createClient({ url: location.origin, fetch: sessionFetch, retries: 1 })
