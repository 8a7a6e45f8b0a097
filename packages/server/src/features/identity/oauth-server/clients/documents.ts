import type { SystemDatabase } from '../../../../database/system-database.ts'
import type { Outbound, OutboundReply } from '../../../../http/outbound.ts'
import { isObject, type JsonObject, parseJson } from '../../../../lib/json.ts'
import { ProtocolError } from '../protocol-error.ts'
import { type ClientMetadata, readClientMetadata } from './client-metadata.ts'
import type { ClientRow } from './queries.ts'
import { findDocumentedClient, saveDocumentedClient } from './queries.ts'
import { isLoopbackRedirect } from './redirect-uri.ts'

/** Maximum size of a document in bytes, as the draft recommends. */
const sizeLimit = 5 * 1024
const timeoutMs = 5_000
const addressLimit = 2048

/** Seconds for which a document is used: those of its Cache-Control, within bounds. */
const lifetime = { least: 60, usual: 3600, most: 86_400 } as const

export interface ClientDocumentsDeps {
  readonly database: SystemDatabase
  readonly isEnabled: boolean
  /** Scopes that such clients may request. */
  readonly permittedScopes: readonly string[]
  readonly outbound: Outbound
  /** Replaces addresses, for tests. */
  readonly reach?: ((url: string) => string) | undefined
  /** Counts a document fetch that a client address causes. @throws AppError too_many_requests */
  readonly requireFetch: (address: string) => Promise<void>
}

/**
 * Clients whose id is the address of a document that describes them
 * (https://datatracker.ietf.org/doc/draft-ietf-oauth-client-id-metadata-document/). Any caller may name any
 * address. Fetches are therefore bounded, and never reach a private network unless the server itself has a
 * loopback address.
 */
export class ClientDocuments {
  readonly #deps: ClientDocumentsDeps
  /** Documents in flight. One of several concurrent requests fetches. */
  readonly #fetching = new Map<string, Promise<ClientRow>>()

  constructor(deps: ClientDocumentsDeps) {
    this.#deps = deps
  }

  /**
   * Returns the client that a document describes. An outdated document is fetched again.
   *
   * @param address of the caller
   * @returns undefined for an id that is not a document address, or while documents are disabled
   * @throws ProtocolError invalid_client
   */
  async find(clientId: string, address: string): Promise<ClientRow | undefined> {
    if (!this.#deps.isEnabled || !isDocumentAddress(clientId)) return undefined
    const client = await this.#findUsable(clientId)
    if (client !== undefined) return client
    const inFlight = this.#fetching.get(clientId)
    if (inFlight !== undefined) return await inFlight
    const fetching = this.#renew(clientId, address).finally(() => this.#fetching.delete(clientId))
    this.#fetching.set(clientId, fetching)
    return await fetching
  }

  /** Returns a client whose document is fresh. */
  async #findUsable(clientId: string): Promise<ClientRow | undefined> {
    const client = await findDocumentedClient(this.#deps.database, clientId)
    return client?.is_fresh === true || client?.revoked_at instanceof Date ? client : undefined
  }

  async #renew(clientId: string, address: string): Promise<ClientRow> {
    // Another request may have stored the document since the check above.
    const client = await this.#findUsable(clientId)
    if (client !== undefined) return client
    await this.#deps.requireFetch(address)
    return await this.#fetch(clientId)
  }

  async #fetch(clientId: string): Promise<ClientRow> {
    const { outbound, reach = (url) => url, permittedScopes, database } = this.#deps
    const reply = await outbound.post({
      url: reach(clientId),
      method: 'GET',
      headers: { accept: 'application/json', 'user-agent': 'basalt' },
      body: '',
      timeoutMs,
      replyLimit: sizeLimit + 1,
    })
    const {
      redirectUris,
      scopes,
      name,
      authentication = 'none',
    } = describe(readDocument(clientId, reply), permittedScopes)
    if (authentication !== 'none') throw refuse('token_endpoint_auth_method must be none')
    const { origin, host } = new URL(clientId)
    const foreign = redirectUris.find((uri) => new URL(uri).origin !== origin && !isLoopbackRedirect(uri))
    if (foreign !== undefined) {
      throw refuse(`redirect_uris must be of ${origin} or of a loopback address: ${foreign}`)
    }
    return await saveDocumentedClient(database, {
      client_id: clientId,
      name: name ?? host,
      redirect_uris: redirectUris,
      scopes,
      lifetimeSeconds: lifetimeOf(reply),
    })
  }
}

/**
 * Returns whether a text is a document address in normal form. Equal addresses are then equal texts: neither
 * dot segments nor another spelling of the host name a document twice.
 */
export function isDocumentAddress(text: string): boolean {
  if (!text.startsWith('https://') || text.length > addressLimit || text.includes('#')) return false
  const url = URL.parse(text)
  return url !== null && url.href === text && url.username === '' && url.password === ''
}

function readDocument(clientId: string, reply: OutboundReply): Readonly<Record<string, unknown>> {
  const { status, error, headers, text } = reply
  // The reason would distinguish names and addresses of the server's own network.
  if (error !== undefined || status === undefined) throw refuse('it cannot be fetched')
  if (status !== 200) throw refuse(`status ${status} instead of 200`)
  const type =
    String(headers['content-type'] ?? '')
      .split(';', 1)[0]
      ?.trim()
      .toLowerCase() ?? ''
  if (!/^application\/([\w.!#$&^-]+\+)?json$/.test(type))
    throw refuse('its content type must be application/json')
  if (Buffer.byteLength(text) > sizeLimit) throw refuse(`it is longer than ${sizeLimit} bytes`)
  const document = parseObject(text)
  if (document === undefined) throw refuse('it is no JSON object')
  if (document.client_id !== clientId) throw refuse('its client_id must be its own address')
  if ('client_secret' in document || 'client_secret_expires_at' in document) {
    throw refuse('it must not have a client_secret')
  }
  return document
}

function describe(document: Readonly<Record<string, unknown>>, permitted: readonly string[]): ClientMetadata {
  try {
    return readClientMetadata(document, permitted)
  } catch (error) {
    throw error instanceof ProtocolError ? refuse(error.message) : error
  }
}

function parseObject(text: string): JsonObject | undefined {
  const value = parseJson(text)
  return isObject(value) ? value : undefined
}

/** Returns the lifetime of a document (RFC 9111 §5.2.2). */
function lifetimeOf({ headers }: OutboundReply): number {
  const control = String(headers['cache-control'] ?? '').toLowerCase()
  if (/\bno-(store|cache)\b/.test(control)) return lifetime.least
  const [, seconds] = /\bmax-age="?(\d{1,9})/.exec(control) ?? []
  if (seconds === undefined) return lifetime.usual
  return Math.min(lifetime.most, Math.max(lifetime.least, Number(seconds)))
}

function refuse(problem: string): ProtocolError {
  return new ProtocolError('invalid_client', `client metadata document: ${problem}`)
}
