import { Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http'

export interface Reply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** Parses the body as JSON; throws if it is none. */
  // biome-ignore lint/suspicious/noExplicitAny: assertions name what they expect of it
  readonly json: any
}

export interface RequestOptions {
  readonly token?: string
  /** Body, sent as JSON. */
  readonly body?: unknown
  /** Agent that keeps its connection. By default, each request has a connection of its own. */
  readonly agent?: Agent
  readonly signal?: AbortSignal
}

/** Sends one HTTP request on a connection that tests control. `fetch` would pick the connection itself. */
export function sendRequest(
  method: string,
  url: string,
  { token, body, agent, signal }: RequestOptions = {},
): Promise<Reply> {
  const content = body === undefined ? undefined : JSON.stringify(body)
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, {
      method,
      agent: agent ?? new Agent({ keepAlive: false }),
      ...(signal === undefined ? {} : { signal }),
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(content === undefined
          ? {}
          : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(content) }),
      },
    })
    request.on('error', reject)
    request.on('response', (response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk) => (text += chunk))
      response.on('error', reject)
      response.on('end', () =>
        resolve({
          status: response.statusCode ?? 0,
          headers: response.headers,
          text,
          get json() {
            return JSON.parse(text)
          },
        }),
      )
    })
    request.end(content)
  })
}
