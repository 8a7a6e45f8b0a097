import type { FastifyReply, FastifyRequest } from 'fastify'
import { chooseCoding, codings } from '../../../../http/responses/content-coding.ts'
import { selectPart } from '../../../../http/responses/partial-content.ts'
import { headersFor } from '../rules/headers.ts'
import type { BlobCache } from './blob-cache.ts'
import { readPagePath, readRequestPath } from './file-name.ts'
import { findAppPage, findFile, type SiteResult } from './find-file.ts'
import type { LiveSites } from './live-sites.ts'
import { codedBytes } from './serving-queries.ts'

export interface ServeDeps {
  readonly sites: LiveSites
  readonly blobs: BlobCache
}

/** Serves a request for a site, as a static host does. */
export async function serveSite(
  { sites, blobs }: ServeDeps,
  slug: string | undefined,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  // The pages of the site set their own policies. The headers of the API are for API responses.
  for (const name of ['content-security-policy', 'x-frame-options', 'referrer-policy'])
    reply.removeHeader(name)
  const filePath = readRequestPath(request.originalUrl)
  const path = filePath ?? readPagePath(request.originalUrl)
  const site = path === undefined || slug === undefined ? undefined : await sites.find(slug)
  if (path === undefined || site === undefined) return sendMissing(reply)
  const siteRequest = { path, isNavigation: isNavigation(request) }
  const result =
    filePath === undefined ? (findAppPage(site, siteRequest) ?? missing) : await findFile(site, siteRequest)
  if (result.kind === 'missing') return sendMissing(reply)
  if (result.kind === 'redirect') return redirect(request, reply, result)
  return await sendFile(blobs, result, headersFor(site.rules.headers, path), request, reply)
}

const missing = { kind: 'missing' } as const

/** Returns whether the request is a navigation. Browsers send Fetch Metadata; older ones accept HTML. */
function isNavigation({ headers }: FastifyRequest): boolean {
  const mode = headers['sec-fetch-mode']
  return mode === undefined ? headers.accept?.includes('text/html') === true : mode === 'navigate'
}

/** Sends a 404 that is not cached, because the next deploy may contain the file. */
function sendMissing(reply: FastifyReply): FastifyReply {
  return reply
    .code(404)
    .headers({ 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-store' })
    .header('content-security-policy', "default-src 'none'")
    .send('<!doctype html><html lang="en"><title>Not found</title><h1>Not found</h1></html>\n')
}

/** Sends a redirect that caches revalidate, because the next deploy may redirect elsewhere. */
function redirect(
  { originalUrl }: FastifyRequest,
  reply: FastifyReply,
  { location, status }: Extract<SiteResult, { kind: 'redirect' }>,
): FastifyReply {
  const [address = '', fragment] = location.split('#', 2)
  const query = originalUrl.includes('?') ? originalUrl.slice(originalUrl.indexOf('?')) : ''
  const target = `${address}${address.includes('?') ? '' : query}${fragment === undefined ? '' : `#${fragment}`}`
  return reply.code(status).headers({ location: target, 'cache-control': 'no-cache' }).send()
}

async function sendFile(
  blobs: BlobCache,
  { file, status, isImmutable }: Extract<SiteResult, { kind: 'file' }>,
  ownHeaders: Readonly<Record<string, string>>,
  request: FastifyRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { method, headers } = request
  const blob = await blobs.get(file.sha256)
  // The clean-up removed the blob just now, because its deploy is no longer kept.
  if (blob === undefined) return sendMissing(reply)
  const stored = codings.filter((coding) => blob[coding] !== null)
  // A range selects bytes of the file itself, whatever encodings the client accepts.
  const isPart = headers.range !== undefined && status === 200 && method === 'GET'
  const coding = isPart ? undefined : chooseCoding(headers['accept-encoding'], stored)
  const bytes = codedBytes(blob, coding)
  // Strong tag: each coding has its own (RFC 9110 §8.8.3.3).
  const tag = `"${file.sha256.slice(0, 32)}${coding === undefined ? '' : `-${coding}`}"`
  const cacheControl = isImmutable ? 'public, max-age=31536000, immutable' : 'no-cache'
  reply.headers({ 'content-type': file.contentType, 'cache-control': cacheControl, ...ownHeaders })
  reply.headers({ etag: tag, 'accept-ranges': 'bytes' })
  // The next deploy may contain the missing file.
  if (status === 404) reply.header('cache-control', cacheControl)
  if (stored.length > 0) reply.header('vary', 'Accept-Encoding')
  const part = status === 200 ? selectPart(request, { tag, size: bytes.length }) : undefined
  if (part === 'failed') return reply.code(412).header('cache-control', 'no-store').send()
  if (part === 'known') return reply.code(304).send()
  if (part === 'unsatisfiable') {
    return reply
      .code(416)
      .headers({ 'content-range': `bytes */${bytes.length}`, 'cache-control': 'no-store' })
      .send()
  }
  if (part !== undefined) {
    return reply
      .code(206)
      .header('content-range', `bytes ${part.start}-${part.end}/${bytes.length}`)
      .send(bytes.subarray(part.start, part.end + 1))
  }
  if (coding !== undefined) reply.header('content-encoding', coding)
  return reply.code(status).send(bytes)
}
