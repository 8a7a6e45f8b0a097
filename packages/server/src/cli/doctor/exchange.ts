import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import type { Socket } from 'node:net'
import { text } from 'node:stream/consumers'
import { codeOf, messageOf } from '../../lib/errors.ts'

export interface Exchange {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: Buffer
  readonly signal: AbortSignal
}

/** Response whose body has not been read. */
export interface OpenResponse {
  readonly response: IncomingMessage
  readonly status: number
  /** Address of this machine on the connection. */
  readonly localAddress: string
}

/** Response to an `Upgrade`, with the connection if it was accepted. */
export interface UpgradeResponse {
  readonly status: number
  readonly accept: string | undefined
}

/**
 * Sends a request on a connection of its own and resolves with the head of the response. The certificate is not
 * verified, because a check of its own does that; so no request carries a credential.
 *
 * @throws Error if there is no response
 */
export function open(
  url: URL,
  { method = 'GET', headers = {}, body, signal }: Exchange,
): Promise<OpenResponse> {
  return new Promise((resolve, reject) => {
    const request = requestOf(url, { method, headers, signal })
    let localAddress = ''
    request.on('socket', (socket: Socket) => {
      socket.on('connect', () => {
        localAddress = socket.localAddress ?? ''
      })
    })
    request.on('response', (response) => {
      // Without a listener, a broken response would end the process.
      response.on('error', () => undefined)
      resolve({ response, status: response.statusCode ?? 0, localAddress })
    })
    request.on('error', reject)
    request.end(body)
  })
}

/** Sends a request and reads the whole response. @throws Error if there is no response */
export async function exchange(url: URL, options: Exchange) {
  const opened = await open(url, options)
  return { ...opened, headers: opened.response.headers, text: await text(opened.response) }
}

/** Requests a WebSocket and closes it again. @throws Error if there is no response */
export function upgrade(
  url: URL,
  headers: Exchange['headers'],
  signal: AbortSignal,
): Promise<UpgradeResponse> {
  return new Promise((resolve, reject) => {
    const request = requestOf(url, { method: 'GET', headers: { ...headers }, signal })
    request.on('upgrade', (response, socket) => {
      socket.on('error', () => undefined)
      socket.destroy()
      resolve({ status: response.statusCode ?? 0, accept: response.headers['sec-websocket-accept'] })
    })
    request.on('response', (response) => {
      response.on('error', () => undefined)
      response.destroy()
      resolve({ status: response.statusCode ?? 0, accept: undefined })
    })
    request.on('error', reject)
    request.end()
  })
}

function requestOf(
  url: URL,
  {
    method,
    headers,
    signal,
  }: { method: string; headers: Readonly<Record<string, string>>; signal: AbortSignal },
) {
  const options = { method, headers: { 'user-agent': 'basalt-doctor', ...headers }, signal, agent: false }
  return url.protocol === 'https:'
    ? requestHttps(url, { ...options, rejectUnauthorized: false })
    : requestHttp(url, options)
}

/** Returns the reason why a request got no response. */
export function reasonOf(error: unknown): string {
  if (error instanceof Error && /^(Abort|Timeout)Error$/.test(error.name)) return 'no response in time'
  const first = error instanceof AggregateError ? error.errors[0] : error
  return codeOf(first) ?? messageOf(first)
}
