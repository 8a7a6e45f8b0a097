import { randomBytes } from 'node:crypto'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { hashToken } from '../../../lib/tokens.ts'

/** Seconds within which a sign-in must finish. */
export const signInSeconds = 600

/**
 * Returns the names of the cookies that bind a sign-in to its browser (RFC 9700 §4.7). A browser has one
 * value, so that sign-ins in several windows do not disturb one another. With https only this host can set
 * them (RFC 6265bis §4.1.3.2).
 */
function cookieNames(isHttps: boolean): { readonly lax: string; readonly crossSite: string } {
  const prefix = isHttps ? '__Host-' : ''
  return { lax: `${prefix}basalt_sign_in`, crossSite: `${prefix}basalt_sign_in_post` }
}

interface BindingOptions {
  readonly isHttps: boolean
  readonly crossSite: boolean
}

/** Returns the hash of the browser's value, and sets the cookie when it is missing. */
export function bindBrowser(request: FastifyRequest, reply: FastifyReply, options: BindingOptions): Buffer {
  return hashToken(bindBrowserValue(request, reply, options))
}

/** Returns the browser's value, and sets the cookie when it is missing. */
export function bindBrowserValue(
  request: FastifyRequest,
  reply: FastifyReply,
  { isHttps, crossSite }: BindingOptions,
): string {
  const names = cookieNames(isHttps)
  const value = readCookie(request, names.lax) ?? randomBytes(32).toString('base64url')
  const common = `Path=/; HttpOnly; Max-Age=${signInSeconds}`
  const cookies = [`${names.lax}=${value}; ${common}; SameSite=Lax${isHttps ? '; Secure' : ''}`]
  // A POST from the provider's page carries no Lax cookie.
  if (crossSite) cookies.push(`${names.crossSite}=${value}; ${common}; SameSite=None; Secure`)
  void reply.header('set-cookie', cookies)
  return value
}

/** Returns the value that the browser sent with a GET request. */
export function browserValue(request: FastifyRequest, isHttps: boolean): string | undefined {
  return readCookie(request, cookieNames(isHttps).lax)
}

/** Returns the hashes of the values that the browser sent. */
export function browserHashes(request: FastifyRequest, isHttps: boolean): Buffer[] {
  const { lax, crossSite } = cookieNames(isHttps)
  const values = [lax, ...(request.method === 'POST' ? [crossSite] : [])].map((name) =>
    readCookie(request, name),
  )
  return values.filter((value) => value !== undefined).map(hashToken)
}

function readCookie({ headers }: FastifyRequest, name: string): string | undefined {
  const found = (headers.cookie ?? '')
    .split(';')
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`))
  const value = found[0]?.slice(name.length + 1)
  // Two cookies of one name come from another host, which an address without https cannot prevent.
  return found.length === 1 && value !== undefined && /^[\w-]{43}$/.test(value) ? value : undefined
}
