import type { FastifyReply, FastifyRequest } from 'fastify'
import { isLoopback } from '../../lib/addresses.ts'
import type { AppError } from '../../lib/errors.ts'
import { httpErrors } from '../errors/errors.ts'
import { upgradeOfferOf } from '../requests/upgrade.ts'
import type { Origins } from './origins.ts'

/**
 * Header that the dashboard sends with every request. No form, image or link can send it, and CORS permits it
 * to no other origin.
 */
const dashboardHeader = 'x-basalt-dashboard'

/**
 * Name of the cookie that browsers keep for this host alone and only over HTTPS or on this machine (RFC 6265bis
 * §4.1.3.2).
 */
const secureName = '__Host-basalt-admin'
/**
 * Name of the cookie over HTTP to another machine, where browsers reject a `Secure` cookie. Safari rejects one
 * on its own machine, too.
 */
const plainName = 'basalt-admin'
/** User agent of Safari. Other browsers carry its name for the sake of old pages (WebKit bug 281149). */
const safari = /\bVersion\/[\d.]+ (?:Mobile\/\w+ )?Safari\//

/** Returns the administrator's token in the cookie; undefined when the request carries none. */
export function adminCookieOf({ headers: { cookie } }: FastifyRequest): string | undefined {
  return cookie === undefined ? undefined : (readCookie(cookie, secureName) ?? readCookie(cookie, plainName))
}

function readCookie(cookie: string, name: string): string | undefined {
  const prefix = `${name}=`
  return cookie
    .split(/; */)
    .find((pair) => pair.startsWith(prefix))
    ?.slice(prefix.length)
}

/**
 * Sets the cookie without `Max-Age`: it ends with the browser. The session on the server ends earlier.
 *
 * @param isHttps true if the address is known to use https, although no header shows it
 */
export function setAdminCookie(
  request: FastifyRequest,
  reply: FastifyReply,
  token: string,
  isHttps = false,
): void {
  const [name, secure] = isHttps || isSecure(request) ? [secureName, '; Secure'] : [plainName, '']
  void reply.header('set-cookie', `${name}=${token}; Path=/; HttpOnly; SameSite=Strict${secure}`)
}

export function clearAdminCookie(reply: FastifyReply): void {
  void reply.header('set-cookie', [
    `${secureName}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict; Secure`,
    `${plainName}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict`,
  ])
}

/**
 * Returns true if the browser regards the address as secure. The `Origin` header shows that, whatever a proxy
 * has changed in the rest.
 */
function isSecure({ headers, hostname, protocol }: FastifyRequest): boolean {
  if (protocol === 'https' || headers.origin?.startsWith('https:') === true) return true
  return isLoopback(hostname) && !safari.test(headers['user-agent'] ?? '')
}

/**
 * Returns true if the cookie authenticates this request. Browsers attach it by themselves, so the request must
 * show that a page of this server sent it. It shows that by the header, or by loading a part of the page, such
 * as a picture or a download.
 *
 * @returns the error for a request that uses the cookie wrongly
 */
export function judgeCookieUse(request: FastifyRequest, origins: Origins): boolean | AppError {
  const { headers } = request
  const isHandshake = upgradeOfferOf(request) !== undefined
  if (headers[dashboardHeader] !== '1' && !isHandshake && !isPartOfPage(request)) return false
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin') return httpErrors.crossSiteRequest()
  const { origin } = headers
  // Browsers name the origin of every request but plain reads (Fetch Standard, "append a request Origin
  // header").
  const needsOrigin = isHandshake || !isRead(request)
  if (origin === undefined) return needsOrigin ? httpErrors.crossSiteRequest() : true
  return origins.isOwn(origin, request) || origins.isPublic(origin) ? true : httpErrors.crossSiteRequest()
}

/**
 * Rejects a sign-in from a page of another origin, even one that knows a password. Programs and pages of this
 * server may sign in.
 */
export function requireOwnPage(request: FastifyRequest, origins: Origins): void {
  const { origin, 'sec-fetch-site': site } = request.headers
  const isForeign = origin !== undefined && !origins.isOwn(origin, request) && !origins.isPublic(origin)
  if (isForeign || (site !== undefined && site !== 'same-origin' && site !== 'none')) {
    throw httpErrors.crossSiteRequest()
  }
}

/**
 * Returns true if the browser itself loads a part of the page. Scripts can and must send the header: an
 * application at the same address is not the dashboard.
 */
function isPartOfPage(request: FastifyRequest): boolean {
  const { 'sec-fetch-site': site, 'sec-fetch-mode': mode } = request.headers
  return isRead(request) && site === 'same-origin' && (mode === undefined || !ofScripts.has(String(mode)))
}

const ofScripts: ReadonlySet<string> = new Set(['cors', 'same-origin', 'websocket'])

function isRead({ method }: FastifyRequest): boolean {
  return method === 'GET' || method === 'HEAD'
}
