import { once } from 'node:events'
import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { text } from 'node:stream/consumers'
import { setTimeout as delay } from 'node:timers/promises'
import type { Command } from 'commander'
import type { Config, LoadedConfig } from '../configuration.ts'
import { codeOf, messageOf, OperatorError } from '../lib/errors.ts'
import { isOf } from '../lib/is-of.ts'
import { type RetryPolicy, secondsBeforeRetry } from '../lib/retry-policy.ts'
import { type Static, type TSchema, Type } from '../lib/type.ts'
import { createAdminSession } from './admin-session.ts'
import type { Terminal } from './context.ts'
import { findServers, refuseOtherDatabase } from './server-note.ts'
import { showControls } from './table.ts'

/** Client of a server's API, the same one that other administrators use. */
export interface ServerClient {
  readonly url: string
  /**
   * Sends a request.
   *
   * @returns the JSON of the response
   * @throws ServerRefused, OperatorError when there is no response
   */
  send(method: string, path: string, request?: ServerRequest): Promise<unknown>
  /**
   * Opens a response that is not JSON, as a stream. It fails when the server is silent for 300 s.
   *
   * @throws as `send`
   */
  open(path: string, signal?: AbortSignal): Promise<IncomingMessage>
  /** Ends the session, if the command has started one. */
  close(): Promise<void>
}

export interface ServerRequest {
  /** Body that is sent as JSON. */
  readonly body?: object
  readonly form?: EncodedForm
  /** Body that is sent as it is, without a time limit. A file is read while it is sent. */
  readonly content?: { readonly type: string; readonly bytes: Blob }
  readonly headers?: Readonly<Record<string, string>>
  /** True if it may be sent again when no response arrived. */
  readonly isRepeatable?: boolean
  readonly signal?: AbortSignal
}

/** Form in memory. A streamed form breaks the process when the server responds before its end. */
export interface EncodedForm {
  readonly contentType: string
  readonly bytes: Uint8Array<ArrayBuffer>
}

/** Encodes a form as `multipart/form-data` (RFC 7578). */
export async function encodeForm(form: FormData): Promise<EncodedForm> {
  const encoded = new Response(form)
  return {
    contentType: encoded.headers.get('content-type') ?? '',
    bytes: new Uint8Array(await encoded.arrayBuffer()),
  }
}

/** Thrown for an error response, with the server's message. */
export class ServerRefused extends OperatorError {
  readonly status: number

  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

const retry: RetryPolicy = { attempts: 6, delay: 0.25, delayMax: 5, backoff: 2 }
const passing = [429, 502, 503, 504]
const timeoutMs = 120_000
const silenceMs = 300_000

interface ServerOptions {
  readonly url?: string
  readonly adminToken?: string
}

/** Gives a command the flags for the server and the administrator. */
export function withServerFlags(command: Command): Command {
  return command
    .option('--url <url>', 'URL of the server (BASALT_URL); by default the one of this data directory')
    .option('--admin-token <token>', 'admin token (BASALT_ADMIN_TOKEN); by default admin.password is used')
}

/**
 * Connects to the server in the flags, the environment or the data directory. With access to its database no
 * token is needed: the command creates a session of its own, and ends it.
 */
export async function connectToServer(
  terminal: Terminal,
  { config, sources }: LoadedConfig,
  options: ServerOptions,
): Promise<ServerClient> {
  const { env } = terminal
  const given = options.url ?? (env.BASALT_URL || undefined)
  const url = given === undefined ? findLocalServer(config) : readAddress(given)
  const token = options.adminToken ?? (env.BASALT_ADMIN_TOKEN || undefined)
  if (token !== undefined) {
    // The error of an invalid header would show the token.
    if (/^[\x21-\x7e]+$/.test(token)) return createClient(url, token, false)
    throw new OperatorError('--admin-token: expected printable ASCII', { exitCode: 2 })
  }
  // The password of a file is that of this server, and must not be sent to another one.
  const isOfFile = !/^(environment|flag) /.test(sources.get('admin.password') ?? '')
  if (config.admin.password !== '' && !(given !== undefined && isOfFile)) {
    const answer = await createClient(url, undefined, false).send('POST', '/api/admin/auth', {
      body: { password: config.admin.password },
    })
    return createClient(url, expectShape(sessionSchema, answer).token, true)
  }
  if (given !== undefined) {
    const ways = '--admin-token, BASALT_ADMIN_TOKEN or BASALT_ADMIN_PASSWORD'
    throw new OperatorError(`${url} asks for an administrator: set ${ways}`, { exitCode: 2 })
  }
  refuseOtherDatabase(config)
  return createClient(url, await createAdminSession(terminal, config), true)
}

const sessionSchema = Type.Object({ token: Type.String() })

function findLocalServer({ server }: Config): string {
  const running = findServers(server.data_dir).find(({ isAlive, url }) => isAlive && url !== undefined)
  const url = running?.url ?? server.public_base_url
  if (url !== '') return url
  throw new OperatorError(`no server of ${server.data_dir} runs: start it, or name another one by --url`)
}

function readAddress(text: string): string {
  const url = URL.parse(text)
  if (url === null || !/^https?:$/.test(url.protocol) || url.username !== '' || url.password !== '') {
    throw new OperatorError('--url: expected an http or https URL without a password', { exitCode: 2 })
  }
  return text.replace(/\/+$/, '')
}

function createClient(url: string, token: string | undefined, isOwnSession: boolean): ServerClient {
  async function fetchResponse(method: string, path: string, request: ServerRequest): Promise<Response> {
    const { body, form, content, headers, signal } = request
    const type = body === undefined ? (content?.type ?? form?.contentType) : 'application/json'
    const bytes = body === undefined ? (content?.bytes ?? form?.bytes) : JSON.stringify(body)
    const limits = content === undefined ? [AbortSignal.timeout(timeoutMs)] : []
    return await fetch(`${url}${path}`, {
      method,
      headers: {
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...(type === undefined ? {} : { 'content-type': type }),
        ...headers,
      },
      ...(bytes === undefined ? {} : { body: bytes }),
      redirect: 'error',
      signal: AbortSignal.any([...limits, ...(signal === undefined ? [] : [signal])]),
    })
  }

  function refusalOf({ status }: Pick<Response, 'status'>, text: string): ServerRefused {
    return new ServerRefused(status, showControls(messageIn(text) ?? `${url} answers ${status}`))
  }

  function unreachable(reason: string): OperatorError {
    return new OperatorError(`${url} cannot be reached: ${reason}`)
  }

  async function exchange(method: string, path: string, request: ServerRequest): Promise<Outcome> {
    const { signal } = request
    try {
      const response = await fetchResponse(method, path, request)
      const text = await response.text()
      if (response.ok) return { answer: text === '' ? undefined : JSON.parse(text) }
      return {
        failure: refusalOf(response, text),
        isPassing: passing.includes(response.status),
        retryAfterSeconds: Number(response.headers.get('retry-after') ?? 0) || 0,
      }
    } catch (error) {
      signal?.throwIfAborted()
      const reason = error instanceof SyntaxError ? 'the answer is no JSON' : reasonOf(error)
      return { failure: unreachable(reason), isPassing: true }
    }
  }

  async function send(method: string, path: string, request: ServerRequest = {}): Promise<unknown> {
    for (let attempt = 1; ; attempt += 1) {
      const outcome = await exchange(method, path, request)
      if (!('failure' in outcome)) return outcome.answer
      const { failure, isPassing, retryAfterSeconds = 0 } = outcome
      const pause = secondsBeforeRetry(retry, attempt)
      if (!isPassing || request.isRepeatable !== true || pause === undefined) throw failure
      const seconds = Math.max(pause, Math.min(retryAfterSeconds, retry.delayMax))
      await delay(seconds * 1000, undefined, { signal: request.signal }).catch(() =>
        request.signal?.throwIfAborted(),
      )
    }
  }

  return {
    url,
    send,
    async open(path, signal) {
      const address = new URL(`${url}${path}`)
      const headers = token === undefined ? {} : { authorization: `Bearer ${token}` }
      // `fetch` hides trailers, which show whether an export is complete.
      const request = (address.protocol === 'https:' ? requestHttps : requestHttp)(address, {
        headers,
        signal,
        timeout: silenceMs,
      })
      let response: IncomingMessage | undefined
      request.on('timeout', () => {
        // A reader that pauses, as in `basalt export … | less`, stops the server, too.
        if ((response?.readableLength ?? 0) > 0) request.setTimeout(silenceMs)
        else (response ?? request).destroy(new Error(`the server was silent for ${silenceMs / 1000} s`))
      })
      // After the head the response reports the error. Without a listener it would end the process.
      request.on('error', () => undefined)
      try {
        ;[response] = (await once(request.end(), 'response')) as IncomingMessage[]
        if (response === undefined) throw unreachable('no answer')
        const { statusCode: status = 0 } = response
        if (status < 200 || status >= 300) throw refusalOf({ status }, await text(response))
        return response
      } catch (error) {
        signal?.throwIfAborted()
        throw error instanceof OperatorError ? error : unreachable(codeOf(error) ?? messageOf(error))
      }
    },
    async close() {
      // A session that could not be ended expires.
      if (isOwnSession) await send('POST', '/api/admin/auth/logout').catch(() => undefined)
    },
  }
}

type Outcome =
  | { readonly answer: unknown }
  | { readonly failure: OperatorError; readonly isPassing: boolean; readonly retryAfterSeconds?: number }

const envelopeSchema = Type.Object({ message: Type.String() })

function messageIn(text: string): string | undefined {
  try {
    const answer: unknown = JSON.parse(text)
    return isOf(envelopeSchema, answer) ? answer.message : undefined
  } catch {
    // It is the page of a proxy.
    return undefined
  }
}

/** Returns the reason of a missing response, which `fetch` reports as "fetch failed". */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined
  return codeOf(cause) ?? messageOf(cause ?? error)
}

/** Checks the response against the command's schema. @throws OperatorError for another kind of server */
export function expectShape<Schema extends TSchema>(schema: Schema, answer: unknown): Static<Schema> {
  if (isOf(schema, answer)) return answer
  throw new OperatorError('the server answers something else than expected: is it a Basalt of this version?')
}
