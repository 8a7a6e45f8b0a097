import type { FastifyRequest } from 'fastify'
import { isLoopback } from '../../lib/addresses.ts'
import { parseOrigin, parseOriginPattern } from '../../lib/origin-pattern.ts'

export interface OriginOptions {
  /** Value of `server.cors_allowed_origins`. */
  readonly allowed: readonly string[]
  readonly publicBaseUrl: () => string
  /** True if only the address keeps callers out: `auth.enabled = false` on loopback. */
  readonly isLocalOnly: boolean
}

/** Rules for the origins whose pages may call the server. Programs send no `Origin`; their tokens decide. */
export interface Origins {
  /** True if pages of all origins may call the API, `null` included. */
  readonly isOpen: boolean
  /** Returns true if pages of the origin may call the API that tokens protect. */
  mayCall(origin: string): boolean
  /**
   * Returns true if pages of the origin may administer. Those are the server's own pages and the origins that
   * are listed by name.
   */
  mayAdminister(origin: string): boolean
  /** Returns true if the page is this server's: its origin is the address of the request or the public one. */
  isOwn(origin: string, request: Pick<FastifyRequest, 'host'>): boolean
  /**
   * Returns true if a request without a token may call. It must come from a program or from a page that may
   * call, and its `Host` must be an address of this machine. A page's own host name can lead to this machine,
   * too (DNS rebinding).
   */
  mayCallWithoutToken(request: Pick<FastifyRequest, 'host' | 'hostname' | 'headers'>): boolean
  /** Returns true if the origin is the public address. A proxy may replace it in `Host`. */
  isPublic(origin: string): boolean
}

/**
 * Creates the rules. `*` means any origin, because a page can do nothing without a token. Where no token is
 * required, `*` means the pages of this machine. Otherwise any page in its browser could reach the server and
 * read everything.
 */
export function createOrigins({ allowed, publicBaseUrl, isLocalOnly }: OriginOptions): Origins {
  const isAny = allowed.includes('*')
  const patterns = allowed.flatMap((text) => parseOriginPattern(text) ?? [])
  /** Origins that are listed by name. */
  const listed = new Set(allowed.flatMap((text) => (text.includes('*') ? [] : (parseOrigin(text) ?? text))))
  const isPublic = (origin: string) => origin === new URL(publicBaseUrl()).origin
  const mayAdminister = (origin: string) => listed.has(origin) || isPublic(origin)
  const isOpen = isAny && !isLocalOnly
  const mayCall = (origin: string) =>
    isOpen || isPublic(origin) || patterns.some((matches) => matches(origin)) || (isAny && isLocal(origin))
  const isOwn: Origins['isOwn'] = (origin, { host }) => {
    const page = parsePage(origin)
    // An origin omits the default port of its scheme; the `Host` header may contain it.
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
