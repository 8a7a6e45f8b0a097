import { randomBytes } from 'node:crypto'
import { extname } from 'node:path'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { sendPage } from '../../../http/responses/send-page.ts'
import type { HttpServer } from '../../../http/server.ts'
import type { DashboardFiles, DashboardPage } from './files.ts'
import { graphiqlPolicy, pagePolicy } from './policy.ts'
import { createWaitingPage } from './waiting-page.ts'

/** Pattern of file names that the build writes: with a hash, without a path. */
const assetName = /^[\w-][\w.-]*$/

const contentTypes: Readonly<Record<string, string>> = {
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
  '.webp': 'image/webp',
  '.woff2': 'font/woff2',
  '.json': 'application/json; charset=utf-8',
}

const assetFolder = 'assets/'

/** Adds the routes of the page, at every address below its own, and of its files. */
export function dashboardRoutes(app: HttpServer, path: string, files: DashboardFiles): void {
  app.get(
    path,
    { config: { guard: 'public', operation: 'dashboard.page' }, schema: { hide: true } },
    async (_request, reply) => await sendDashboard(reply, path, files),
  )

  app.get<{ Params: { '*': string } }>(
    `${path}/*`,
    { config: { guard: 'public', operation: 'dashboard.file' }, schema: { hide: true } },
    async (request, reply) => {
      const { '*': rest } = request.params
      return rest.startsWith(assetFolder)
        ? await sendAsset(request, reply, files, rest.slice(assetFolder.length))
        : await sendDashboard(reply, path, files)
    },
  )
}

/** Adds the routes of GraphiQL's page and of the files that it loads. */
export function graphiqlRoutes(app: HttpServer, path: string, files: DashboardFiles): void {
  app.get(
    path,
    { config: { guard: 'public', operation: 'reference.graphiql' }, schema: { hide: true } },
    async (_request, reply) => await sendBuiltPage(reply, files, 'graphiql.html', path, graphiqlPolicy),
  )
  app.get<{ Params: { name: string } }>(
    `${path}/${assetFolder}:name`,
    { config: { guard: 'public', operation: 'reference.graphiql_asset' }, schema: { hide: true } },
    async (request, reply) => await sendAsset(request, reply, files, request.params.name),
  )
}

async function sendAsset(
  request: FastifyRequest,
  reply: FastifyReply,
  files: DashboardFiles,
  name: string,
): Promise<unknown> {
  const type = contentTypes[extname(name)]
  const codings = request.headers['accept-encoding']
  const asset =
    type === undefined || !assetName.test(name)
      ? undefined
      : await files.findAsset(name, typeof codings === 'string' ? codings : undefined)
  // A page in response to a script request would break the page that loads the script.
  if (asset === undefined || type === undefined) {
    void reply.header('cache-control', 'no-store')
    return reply.callNotFound()
  }
  if (asset.coding !== undefined) void reply.header('content-encoding', asset.coding)
  return reply
    .header('cache-control', 'public, max-age=31536000, immutable')
    .header('vary', [reply.getHeader('vary'), 'Accept-Encoding'].filter(Boolean).join(', '))
    .header('content-length', asset.size)
    .type(type)
    .send(asset.read())
}

const sendDashboard = (reply: FastifyReply, path: string, files: DashboardFiles) =>
  sendBuiltPage(reply, files, 'index.html', path, pagePolicy)

async function sendBuiltPage(
  reply: FastifyReply,
  files: DashboardFiles,
  name: DashboardPage,
  path: string,
  policyOf: (nonce: string) => string,
): Promise<FastifyReply> {
  void reply.header('cache-control', 'no-store')
  const html = await files.readPage(name)
  if (html === undefined) return sendPage(reply, createWaitingPage(files.state))
  const nonce = randomBytes(16).toString('base64')
  return reply
    .header('content-security-policy', policyOf(nonce))
    .type('text/html; charset=utf-8')
    .send(html.replaceAll('__CSP_NONCE__', nonce).replaceAll('"/admin/', `"${path}/`))
}
