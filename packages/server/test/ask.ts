import { Agent, request as httpRequest, type IncomingHttpHeaders } from 'node:http'

export interface Reply {
  readonly status: number
  readonly headers: IncomingHttpHeaders
  readonly text: string
  /** The body as JSON; throws when it is none. */
  // biome-ignore lint/suspicious/noExplicitAny: assertions name what they expect of it
  readonly json: any
}

export interface AskOptions {
  readonly token?: string
  /** Sent as JSON. */
  readonly body?: unknown
  /** Keeps its connection; without one, each request has a connection of its own that ends with it. */
  readonly agent?: Agent
  readonly signal?: AbortSignal
}

/** One HTTP request on a connection that tests control, which `fetch` would pick by itself. */
export function ask(
  method: string,
  url: string,
  { token, body, agent, signal }: AskOptions = {},
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
