import type { FastifyReply, FastifyRequest } from 'fastify'
import { isLoopback } from '../../lib/addresses.ts'
import type { AppError } from '../../lib/errors.ts'
import { httpErrors } from '../errors/errors.ts'
import { upgradeOfferOf } from '../requests/upgrade.ts'
import type { Origins } from './origins.ts'

/** Sent by every request of the dashboard: no form, image or link can send it, and CORS permits it to no other origin. */
const dashboardHeader = 'x-basalt-dashboard'

/** The browser keeps it for this host alone and for HTTPS, or for this machine (RFC 6265bis §4.1.3.2). */
const secureName = '__Host-basalt-admin'
/** Over HTTP to another machine a browser takes no cookie that is marked `Secure`; Safari not from its own machine either. */
const plainName = 'basalt-admin'
/** Safari, not the browsers that name it for the sake of old pages (WebKit bug 281149). */
const safari = /\bVersion\/[\d.]+ (?:Mobile\/\w+ )?Safari\//

/** The administrator's token in the cookie; undefined when the request carries none. */
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

/** Without `Max-Age`: it ends with the browser, and on the server before. */
export function setAdminCookie(request: FastifyRequest, reply: FastifyReply, token: string): void {
  const [name, secure] = isSecure(request) ? [secureName, '; Secure'] : [plainName, '']
  void reply.header('set-cookie', `${name}=${token}; Path=/; HttpOnly; SameSite=Strict${secure}`)
}

export function clearAdminCookie(reply: FastifyReply): void {
  void reply.header('set-cookie', [
    `${secureName}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict; Secure`,
    `${plainName}=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict`,
  ])
}

/** Whether the browser regards the address as secure. It says so by its `Origin`, whatever a proxy has made of the rest. */
function isSecure({ headers, hostname, protocol }: FastifyRequest): boolean {
  if (protocol === 'https' || headers.origin?.startsWith('https:') === true) return true
  return isLoopback(hostname) && !safari.test(headers['user-agent'] ?? '')
}

/**
 * Whether the cookie speaks for this request. It comes along by itself, so something has to show that a page of this
 * server wants it to: the header, or that the browser itself loads a part of the page, such as a picture or a download.
 *
 * @returns the reason why a request that wants it to is refused
 */
export function judgeCookieUse(request: FastifyRequest, origins: Origins): boolean | AppError {
  const { headers } = request
  const isHandshake = upgradeOfferOf(request) !== undefined
  if (headers[dashboardHeader] !== '1' && !isHandshake && !isPartOfPage(request)) return false
  const site = headers['sec-fetch-site']
  if (site !== undefined && site !== 'same-origin') return httpErrors.crossSiteRequest()
  const { origin } = headers
  // Browsers name the origin of every request but plain reads (Fetch Standard, "append a request Origin header").
  const needsOrigin = isHandshake || !isRead(request)
  if (origin === undefined) return needsOrigin ? httpErrors.crossSiteRequest() : true
  return origins.isOwn(origin, request) || origins.isPublic(origin) ? true : httpErrors.crossSiteRequest()
}

/** A sign-in is for a page of this server or a program, never for another page that knows a password. */
export function requireOwnPage(request: FastifyRequest, origins: Origins): void {
  const { origin, 'sec-fetch-site': site } = request.headers
  const isForeign = origin !== undefined && !origins.isOwn(origin, request) && !origins.isPublic(origin)
  if (isForeign || (site !== undefined && site !== 'same-origin' && site !== 'none')) {
    throw httpErrors.crossSiteRequest()
  }
}

/** What scripts fetch can carry the header, and must: an application behind the same address is not the dashboard. */
function isPartOfPage(request: FastifyRequest): boolean {
  const { 'sec-fetch-site': site, 'sec-fetch-mode': mode } = request.headers
  return isRead(request) && site === 'same-origin' && (mode === undefined || !ofScripts.has(String(mode)))
}

const ofScripts: ReadonlySet<string> = new Set(['cors', 'same-origin', 'websocket'])

function isRead({ method }: FastifyRequest): boolean {
  return method === 'GET' || method === 'HEAD'
}
