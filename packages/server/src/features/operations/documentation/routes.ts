import type { FastifyReply, FastifyRequest } from 'fastify'
import { codedTag, isKnown, sendNotModified, varyBy } from '../../../http/responses/entity-tag.ts'
import type { HttpServer } from '../../../http/server.ts'
import { plainAddressOf } from './plain-address.ts'
import { missingPage, type SiteFile, type SiteFiles } from './site-files.ts'

/** Path of the site. The generator has the same one in its configuration. */
export const docsPath = '/docs'

/**
 * Content Security Policy of the site. It allows no inline script and no other origin. The search compiles
 * WebAssembly. Attributes of the generator's HTML have the colours of code.
 */
const policy = [
  "default-src 'none'",
  "script-src 'self' 'wasm-unsafe-eval'",
  "worker-src 'self'",
  "style-src 'self'",
  "style-src-attr 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** Adds the routes of the site. Without a site they redirect to the plain pages. */
export function documentationRoutes(app: HttpServer, site: SiteFiles | undefined): void {
  const answer = async (request: FastifyRequest, reply: FastifyReply, path: string) =>
    site === undefined ? redirectToPlainPage(reply, path) : await sendFile(request, reply, site, path)

  app.get(
    docsPath,
    { config: { guard: 'public', operation: 'docs.front' }, schema: { hide: true } },
    async (request, reply) => await answer(request, reply, ''),
  )
  app.get<{ Params: { '*': string } }>(
    `${docsPath}/*`,
    { config: { guard: 'public', operation: 'docs.page' }, schema: { hide: true } },
    async (request, reply) => await answer(request, reply, request.params['*'].replace(/\/$/, '')),
  )
}

function redirectToPlainPage(reply: FastifyReply, path: string): unknown {
  const address = plainAddressOf(path)
  void reply.header('cache-control', 'no-store')
  return address === undefined ? reply.callNotFound() : reply.redirect(address, 302)
}

async function sendFile(
  request: FastifyRequest,
  reply: FastifyReply,
  site: SiteFiles,
  path: string,
): Promise<unknown> {
  const file = path === missingPage ? undefined : site.find(path)
  if (file !== undefined) return await send(request, reply, file)
  const missing = path.includes('.') ? undefined : site.find(missingPage)
  void reply.header('cache-control', 'no-store')
  return missing === undefined ? reply.callNotFound() : await send(request, reply.code(404), missing)
}

async function send(request: FastifyRequest, reply: FastifyReply, file: SiteFile): Promise<unknown> {
  void reply.header('content-security-policy', policy).header('x-robots-tag', 'noindex')
  varyBy(reply, 'Accept-Encoding')
  if (reply.statusCode === 200) {
    void reply
      .header('cache-control', file.isImmutable ? 'public, max-age=31536000, immutable' : 'no-cache')
      .header('etag', file.etag)
    if (isKnown(request, reply)) return sendNotModified(reply)
  }
  const codings = request.headers['accept-encoding']
  const { content, coding } = await file.read(typeof codings === 'string' ? codings : undefined)
  if (coding !== undefined) {
    void reply.header('content-encoding', coding)
    if (reply.statusCode === 200) void reply.header('etag', codedTag(file.etag, coding))
  }
  return reply.type(file.type).send(content)
}
