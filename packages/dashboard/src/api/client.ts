import { createClient } from '@basaltdb/client'
import { isOfProxy, noteConnected, noteDisconnected } from './connection.ts'
import { noteEndedSession } from './session-state.ts'

/** The server trusts the cookie of the session only with it: no form and no image of another page can send it. */
const dashboardHeaders = { 'x-basalt-dashboard': '1' } as const

/** As `fetch`; notices that the session has ended or that the server is unavailable. */
export const watchedFetch: typeof fetch = async (input, init) => {
  const headers = new Headers(init?.headers)
  for (const [name, value] of Object.entries(dashboardHeaders)) headers.set(name, value)
  let response: Response
  try {
    response = await fetch(input, { ...init, headers, credentials: 'same-origin' })
  } catch (error) {
    if (init?.signal?.aborted !== true) noteDisconnected()
    throw error
  }
  if (await isOfProxy(response)) noteDisconnected()
  else noteConnected()
  // With a token of its own a request says nothing about the session.
  if (response.status === 401 && !headers.has('authorization')) noteEndedSession()
  return response
}

/** Tables: `client.from('posts')`. The rest of the API: `get`, `post` and so on of `request.ts`. */
export const client = createClient({ url: location.origin, fetch: watchedFetch, retries: 1 })
