import type { FastifyRequest } from 'fastify'
import { isLoopback } from '../../lib/addresses.ts'
import { parseOrigin, parseOriginPattern } from '../../lib/origin-pattern.ts'

export interface OriginOptions {
  /** `server.cors_allowed_origins`. */
  readonly allowed: readonly string[]
  readonly publicBaseUrl: () => string
  /** Whether nothing but the address keeps callers out: `auth.enabled = false` on loopback. */
  readonly isLocalOnly: boolean
}

/** Pages of which origins may call. Programs send no `Origin`; what they may do is up to their tokens. */
export interface Origins {
  /** Whether pages of all origins may call the API, `null` included. */
  readonly isOpen: boolean
  /** Of the API that tokens protect. */
  mayCall(origin: string): boolean
  /** Of administration: the server's own pages and those that are listed by name. */
  mayAdminister(origin: string): boolean
  /** Whether the page is this server's, by the address it was asked under or by its public one. */
  isOwn(origin: string, request: Pick<FastifyRequest, 'host'>): boolean
  /**
   * Whether a request that no token speaks for comes from a program or a page that may call, and was sent to an address of
   * this machine: a page's own host name can lead here, too (DNS rebinding).
   */
  mayCallWithoutToken(request: Pick<FastifyRequest, 'host' | 'hostname' | 'headers'>): boolean
  /** Whether it is the public address, which a proxy may replace by another one in `Host`. */
  isPublic(origin: string): boolean
}

/**
 * `*` means any origin, because a page can do nothing without a token. Where none is asked for it means the pages of
 * this machine: any page in a browser on it could reach the server, and read everything.
 */
export function createOrigins({ allowed, publicBaseUrl, isLocalOnly }: OriginOptions): Origins {
  const isAny = allowed.includes('*')
  const patterns = allowed.flatMap((text) => parseOriginPattern(text) ?? [])
  /** Those that are listed by name. */
  const listed = new Set(allowed.flatMap((text) => (text.includes('*') ? [] : (parseOrigin(text) ?? text))))
  const isPublic = (origin: string) => origin === new URL(publicBaseUrl()).origin
  const mayAdminister = (origin: string) => listed.has(origin) || isPublic(origin)
  const isOpen = isAny && !isLocalOnly
  const mayCall = (origin: string) =>
    isOpen || isPublic(origin) || patterns.some((matches) => matches(origin)) || (isAny && isLocal(origin))
  const isOwn: Origins['isOwn'] = (origin, { host }) => {
    const page = parsePage(origin)
    // The origin leaves out the port of its scheme; the header of a request may name it.
    return page !== undefined && URL.parse(`${page.protocol}//${host}`)?.host === page.host
  }
  const isOurs = (name: string) =>
    name === '' ||
    isLoopback(name) ||
    [publicBaseUrl(), ...listed].some((origin) => parsePage(origin)?.hostname === name)
  return {
    isOpen,
    mayAdminister,
    isPublic,
    mayCall,
    isOwn,
    mayCallWithoutToken(request) {
      if (!isLocalOnly) return true
      const { origin } = request.headers
      if (!isOurs(request.hostname.toLowerCase())) return false
      return origin === undefined || mayCall(origin) || isOwn(origin, request)
    },
  }
}

function isLocal(origin: string): boolean {
  const page = parsePage(origin)
  return page !== undefined && page.origin === origin && isLoopback(page.hostname)
}

function parsePage(origin: string): URL | undefined {
  const page = URL.parse(origin) ?? undefined
  return page !== undefined && /^https?:$/.test(page.protocol) ? page : undefined
}
