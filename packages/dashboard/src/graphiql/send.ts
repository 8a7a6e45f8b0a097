/** Header that, with the session cookie, makes a request one of the administrator. */
const ofSession = { 'x-basalt-dashboard': '1' } as const

/** Caller of the requests: the user of the token under Headers, else the administrator of the dashboard. */
export type Caller = 'token' | 'administrator' | 'anonymous'

export interface GraphqlParameters {
  readonly query: string
  readonly variables?: unknown
  readonly operationName?: string | null | undefined
}

/** Finds the caller of requests with these headers. */
export async function findCaller(authorization: string | undefined): Promise<Caller> {
  if (authorization !== undefined) return 'token'
  const { ok } = await fetch('/api/admin/session', { headers: ofSession })
  return ok ? 'administrator' : 'anonymous'
}

/**
 * Sends an operation to the own origin and returns its response.
 *
 * @throws Error if the server is unavailable or the response is not JSON, such as that of a proxy
 */
export async function send(
  parameters: GraphqlParameters,
  caller: Caller,
  headers: Readonly<Record<string, string>> = {},
): Promise<unknown> {
  const response = await fetch('/api/graphql', {
    method: 'POST',
    headers: {
      accept: 'application/json',
      ...(caller === 'administrator' ? ofSession : {}),
      ...headers,
      'content-type': 'application/json',
    },
    // The server rejects the cookie of an ended session.
    credentials: caller === 'administrator' ? 'same-origin' : 'omit',
    body: JSON.stringify(parameters),
  })
  const text = await response.text()
  try {
    return JSON.parse(text)
  } catch {
    throw new Error(`Expected JSON from /api/graphql, received status ${response.status}.`)
  }
}

/** Parses the text of the Headers editor; without headers while the text is incomplete. */
export function parseHeaders(text: string): object {
  try {
    return Object(JSON.parse(text))
  } catch {
    return {}
  }
}

/** Returns the value of the Authorization header. */
export function findAuthorization(headers: object): string | undefined {
  const [, value] = Object.entries(headers).find(([name]) => name.toLowerCase() === 'authorization') ?? []
  return typeof value === 'string' && value !== '' ? value : undefined
}
