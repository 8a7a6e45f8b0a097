import { lookup as systemLookup } from 'node:dns'
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import { classifyAddress } from '../lib/address-class.ts'
import { codeOf } from '../lib/errors.ts'

/** Address of a host name. */
export interface ResolvedAddress {
  readonly address: string
  readonly family: number
}

/** Resolver of a host name. @throws when it has no address */
export type Resolve = (hostname: string) => Promise<readonly ResolvedAddress[]>

export interface OutboundRequest {
  readonly url: string
  /** Method; POST by default. */
  readonly method?: string
  readonly headers: Readonly<Record<string, string>>
  readonly body: string | Buffer
  /** Time limit of the whole exchange: name resolution, connection, TLS, headers and body. */
  readonly timeoutMs: number
  /** Maximum number of bytes of the reply that are read; the rest is dropped. */
  readonly replyLimit: number
  readonly signal?: AbortSignal
}

/** Outcome of an exchange. Its texts disclose nothing about the network. */
export interface OutboundReply {
  /** Undefined when no response came. */
  readonly status?: number
  readonly headers: Readonly<Record<string, string | string[] | undefined>>
  /** Beginning of the body as text; invalid bytes are replaced. */
  readonly text: string
  /** Reason why the exchange failed before its end. */
  readonly error?: string
}

/** Sender of requests to URLs that administrators or their users name. */
export interface Outbound {
  /**
   * Returns true if the URL contains an address that is not allowed. A host name is checked only when it is
   * connected to.
   */
  refuses(url: string): boolean
  /** Returns the addresses of a host name or address that requests may be sent to. @throws OutboundRefused */
  addressesOf(hostname: string): Promise<readonly ResolvedAddress[]>
  /** Sends a request, by default a POST. It does not follow redirects. */
  post(request: OutboundRequest): Promise<OutboundReply>
}

export interface OutboundOptions {
  readonly allowsPrivate: () => boolean
  readonly resolve?: Resolve
}

/** Error of a host without an address that requests may be sent to. Its message discloses nothing about the network. */
export class OutboundRefused extends Error {}

const notAllowed = 'the address is not one that requests may be sent to'

/** Code of our own errors in a lookup. */
const refusedCode = 'ERR_BASALT_TARGET'

export function createOutbound({ allowsPrivate, resolve = resolveBySystem }: OutboundOptions): Outbound {
  const isAllowed = (address: string) => {
    const kind = classifyAddress(address)
    return kind === 'public' || (kind === 'private' && allowsPrivate())
  }

  const findAllowed = async (hostname: string) => {
    const found = await resolve(hostname).catch((error) => {
      throw Object.assign(new Error('not found'), { code: codeOf(error) ?? 'ENOTFOUND' })
    })
    const allowed = found.filter(({ address }) => isAllowed(address))
    if (allowed.length === 0) throw Object.assign(new Error(notAllowed), { code: refusedCode })
    return allowed
  }

  // The socket connects to the address that was checked and to no other. A host name that changes in between
  // gains nothing.
  const lookup: LookupFunction = (hostname, options, callback) => {
    findAllowed(hostname).then(
      (allowed) => {
        const [first] = allowed
        if (options.all === true || first === undefined) callback(null, [...allowed])
        else callback(null, first.address, first.family)
      },
      (error) => callback(error, ''),
    )
  }

  const refuses = (url: string) => {
    const host = hostOf(new URL(url))
    return isIP(host) !== 0 && !isAllowed(host)
  }

  return {
    refuses,
    async addressesOf(hostname) {
      const host = hostname.replace(/^\[|\]$/g, '')
      const family = isIP(host)
      if (family !== 0 && isAllowed(host)) return [{ address: host, family }]
      if (family !== 0) throw new OutboundRefused(notAllowed)
      return await findAllowed(host).catch((error) => {
        throw new OutboundRefused(describeFailure(error))
      })
    },
    async post(outgoing) {
      if (refuses(outgoing.url)) return { headers: {}, text: '', error: notAllowed }
      return await exchange(outgoing, lookup)
    },
  }
}

/** Returns the host without the brackets of an IPv6 address. URLs normalize IPv4 addresses of any spelling. */
function hostOf(url: URL): string {
  return url.hostname.replace(/^\[|\]$/g, '')
}

function exchange(outgoing: OutboundRequest, lookup: LookupFunction): Promise<OutboundReply> {
  const { url, method = 'POST', headers, body, timeoutMs, replyLimit, signal } = outgoing
  return new Promise((settle) => {
    let response: IncomingMessage | undefined
    const chunks: Buffer[] = []
    let size = 0
    let request: ClientRequest | undefined
    let isOver = false

    const finish = (error?: string) => {
      if (isOver) return
      isOver = true
      clearTimeout(timer)
      signal?.removeEventListener('abort', abort)
      // The rest of the reply is dropped, and the connection is not used again.
      request?.destroy()
      settle({
        ...(response?.statusCode === undefined ? {} : { status: response.statusCode }),
        headers: response?.headers ?? {},
        text: decode(Buffer.concat(chunks).subarray(0, replyLimit)),
        ...(error === undefined ? {} : { error }),
      })
    }
    const timer = setTimeout(() => finish(`no complete answer within ${timeoutMs / 1000} s`), timeoutMs)
    const abort = () => finish('the server stopped')
    signal?.addEventListener('abort', abort)

    try {
      const send = new URL(url).protocol === 'https:' ? httpsRequest : httpRequest
      request = send(url, {
        method,
        headers: { ...headers, 'content-length': String(Buffer.byteLength(body)), connection: 'close' },
        lookup,
        agent: false,
      })
    } catch {
      finish('the request cannot be made')
      return
    }
    request.on('response', (incoming) => {
      response = incoming
      incoming.on('data', (chunk: Buffer) => {
        chunks.push(chunk)
        size += chunk.length
        if (size >= replyLimit) finish()
      })
      incoming.on('end', () => finish())
      incoming.on('error', () => finish('the connection broke'))
      incoming.on('close', () => finish('the connection broke'))
    })
    request.on('upgrade', (incoming) => {
      response = incoming
      finish()
    })
    request.on('error', (error) => finish(describeFailure(error)))
    request.end(body)
  })
}

function describeFailure(error: unknown): string {
  const code = codeOf(error) ?? ''
  if (code === refusedCode) return notAllowed
  if (code === 'ENOTFOUND' || code === 'EAI_AGAIN') return 'the host name was not found'
  if (/CERT|SIGNATURE|ERR_TLS|ERR_SSL|EPROTO/.test(code))
    return 'no secure connection: TLS or certificate refused'
  return 'the connection failed'
}

function decode(bytes: Buffer): string {
  // Text in Postgres cannot contain NUL.
  return new TextDecoder().decode(bytes).replaceAll('\0', '\ufffd')
}

function resolveBySystem(hostname: string): Promise<readonly ResolvedAddress[]> {
  return new Promise((found, fail) => {
    systemLookup(hostname, { all: true }, (error, addresses) =>
      error === null ? found(addresses) : fail(error),
    )
  })
}
