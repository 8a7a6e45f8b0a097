import { createReadStream, existsSync, statSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import type { Readable } from 'node:stream'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { CallerScope } from '../../../database/caller/caller-scope.ts'
import type { LiveCatalog } from '../../../database/catalog/live-catalog.ts'
import type { Feature } from '../../../feature.ts'
import { refuseAction } from '../../../http/access/grants.ts'
import { readStaticDocument } from '../../../http/plugins/api-document.ts'
import { isKnown, sendNotModified, varyBy } from '../../../http/responses/entity-tag.ts'
import { sendPage } from '../../../http/responses/send-page.ts'
import type { HttpServer } from '../../../http/server.ts'
import type { Page } from '../../../lib/page.ts'
import { packageFolder } from '../../../package.ts'
import { docsPath, siteAddressOf } from '../documentation/index.ts'
import { type ApiDocument, createApiDocuments, entityTag } from './api-document.ts'
import { apiPageAssets, apiPagePath, apiPageStyle, createApiPage } from './api-page.ts'
import type { DocumentedRoute } from './described-routes.ts'
import type { StaticDocument } from './document-parts.ts'
import { createErrorReference, type ReferencedError } from './error-reference.ts'
import {
  createGuideList,
  createGuidePage,
  type Guide,
  guidesPath,
  listPictures,
  readGuides,
} from './guides.ts'
import { formatYaml } from './yaml.ts'

export type { DocumentedRoute } from './described-routes.ts'
export type { ReferencedError } from './error-reference.ts'

export interface ReferenceDeps {
  readonly catalog: LiveCatalog
  readonly errors: readonly ReferencedError[]
  readonly publicBaseUrl: () => string
  /** Returns the configuration reference as Markdown. */
  readonly describeConfiguration: () => string
  /** True if the documentation site is served, to which the plain pages of guides and errors redirect. */
  readonly hasSite: boolean
  /** Returns the routes of functions that are served. */
  readonly routes: () => readonly DocumentedRoute[]
  /** Path of the GraphQL tab of the API page; undefined without GraphQL. */
  readonly graphqlPage: string | undefined
}

/** Makes the feature of the reference: the API as a document and as a page, the errors, the guides. */
export function reference(deps: ReferenceDeps): Feature {
  return {
    name: 'reference',
    routes(app) {
      documentRoutes(app, deps)
      apiPageRoutes(app, deps.graphqlPage)
      if (deps.hasSite) {
        redirectToSite(app)
        return
      }
      guideRoutes(app, deps)
      pictureRoute(app)
      pageRoute(app, errorsPath, 'reference.errors', () => createErrorReference(deps.errors))
    },
  }
}

/**
 * Adds `GET /api/openapi.json` and `GET /api/openapi.yaml`: the static routes, and the tables and functions of this server that
 * the caller may use.
 */
function documentRoutes(app: HttpServer, { catalog, routes, publicBaseUrl }: ReferenceDeps): void {
  const documents = createApiDocuments(() => readStaticDocument(app) as StaticDocument, publicBaseUrl)
  const find = async ({ identity }: FastifyRequest): Promise<ApiDocument> => {
    if (identity === undefined)
      return documents.documentOf({ catalog: undefined, audience: 'caller', routes: [] })
    const { scope } = identity
    const audience = scope.kind === 'unrestricted' ? 'administrator' : 'caller'
    const visible = routes().filter((route) => mayCall(scope, route))
    // A program with some tables does not see the others.
    const isGranted = identity.kind === 'user' && identity.scope.grant?.tables !== undefined
    if (isGranted) return documents.documentOf({ catalog: undefined, audience, routes: visible })
    await catalog.refresh()
    return documents.documentOf({ catalog: catalog.current, audience, routes: visible })
  }
  const options = (operation: string) => ({
    config: { guard: 'optional', programs: 'read', permission: 'structure.read', operation } as const,
    schema: { hide: true },
  })
  app.get('/api/openapi.json', options('reference.openapi'), async (request, reply) =>
    sendDocument(reply, 'application/json; charset=utf-8', await find(request)),
  )
  const yamls = new WeakMap<ApiDocument, ApiDocument>()
  app.get('/api/openapi.yaml', options('reference.openapiYaml'), async (request, reply) => {
    const document = await find(request)
    const yaml = yamls.get(document) ?? asYaml(document)
    yamls.set(document, yaml)
    // The media type of RFC 9512.
    return sendDocument(reply, 'application/yaml; charset=utf-8', yaml)
  })
}

/** Returns true if the caller may call a function. A program needs an action for each, an administrator a role that writes. */
function mayCall(scope: CallerScope, { access, name }: DocumentedRoute): boolean {
  if (scope.kind === 'unrestricted') return scope.isReadOnly !== true
  if (scope.kind === 'anonymous') return access === 'anonymous'
  return access !== 'admin' && refuseAction(scope, `function:${name}`) === undefined
}

function asYaml({ text: json }: ApiDocument): ApiDocument {
  const text = formatYaml(json)
  return { text, etag: entityTag(text) }
}

function sendDocument(reply: FastifyReply, type: string, { text, etag }: ApiDocument): FastifyReply {
  // The document depends on the token. A cache may store it only for its owner, and must revalidate it.
  void reply.header('cache-control', 'private, no-cache').header('etag', etag)
  varyBy(reply, 'Authorization')
  if (isKnown(reply.request, reply)) return sendNotModified(reply)
  return reply.type(type).send(text)
}

function apiPageRoutes(app: HttpServer, graphqlPage: string | undefined): void {
  pageRoute(app, apiPagePath, 'reference.page', () => createApiPage(graphqlPage))
  for (const [name, type] of Object.entries(apiPageAssets)) {
    const file = locateAsset(name)
    const { size, mtimeMs } = statSync(file)
    assetRoute(app, { name, type, etag: `"${size}-${mtimeMs}"`, read: () => createReadStream(file) })
  }
  const etag = entityTag(apiPageStyle)
  assetRoute(app, { name: 'api-page.css', type: 'text/css; charset=utf-8', etag, read: () => apiPageStyle })
}

/** Returns the path of a file of Swagger UI. The build copies these files, and sources read them from the package. */
function locateAsset(name: string): string {
  const copy = join(packageFolder, 'dist', 'swagger-ui', name)
  if (existsSync(copy)) return copy
  return createRequire(import.meta.url).resolve(`@fastify/swagger-ui/static/${name}`)
}

interface Asset {
  readonly name: string
  readonly type: string
  readonly etag: string
  readonly read: () => string | Readable
}

function assetRoute(app: HttpServer, { name, type, etag, read }: Asset): void {
  app.get(
    `${apiPagePath}/assets/${name}`,
    { config: { guard: 'public', operation: 'reference.asset' }, schema: { hide: true } },
    (request, reply) => {
      void reply.header('etag', etag).header('cache-control', 'no-cache')
      if (isKnown(request, reply)) return sendNotModified(reply)
      return reply.type(type).send(read())
    },
  )
}

const errorsPath = '/api/docs/errors'

/** Adds the addresses of the plain pages, which redirect to the documentation site. */
function redirectToSite(app: HttpServer): void {
  const redirect = (path: string, operation: string, target: (name: string) => string) =>
    app.get<{ Params: { name?: string } }>(
      path,
      { config: { guard: 'public', operation }, schema: { hide: true } },
      (request, reply) =>
        reply.header('cache-control', 'no-store').redirect(target(request.params.name ?? ''), 302),
    )
  redirect(guidesPath, 'reference.guides', () => docsPath)
  redirect(`${guidesPath}/:name`, 'reference.guide', (name) => siteAddressOf(encodeURIComponent(name)))
  redirect(errorsPath, 'reference.errors', () => `${docsPath}/errors`)
}

function guideRoutes(app: HttpServer, { describeConfiguration }: ReferenceDeps): void {
  let read: readonly Guide[] | undefined
  const readOnce = () => (read ??= readGuides(describeConfiguration()))
  pageRoute(app, guidesPath, 'reference.guides', () => createGuideList(readOnce()))
  const rendered = new Map<string, Page>()
  app.get<{ Params: { name: string } }>(
    `${guidesPath}/:name`,
    { config: { guard: 'public', operation: 'reference.guide' }, schema: { hide: true } },
    (request, reply) => {
      const guides = readOnce()
      const guide = guides.find(({ name }) => name === request.params.name)
      if (guide === undefined) return reply.callNotFound()
      const page = rendered.get(guide.name) ?? createGuidePage(guide, guides)
      rendered.set(guide.name, page)
      return sendPage(reply, page)
    },
  )
}

/** Adds the route of pictures. Guides name them as `images/NAME`, which also works in the repository. */
function pictureRoute(app: HttpServer): void {
  let pictures: ReadonlyMap<string, string> | undefined
  app.get<{ Params: { name: string } }>(
    `${guidesPath}/images/:name`,
    { config: { guard: 'public', operation: 'reference.picture' }, schema: { hide: true } },
    (request, reply) => {
      pictures ??= listPictures()
      const file = pictures.get(request.params.name)
      if (file === undefined) return reply.callNotFound()
      return reply.type('image/webp').header('cache-control', 'max-age=3600').send(createReadStream(file))
    },
  )
}

/** Adds the route of a page, which is created at its first request, because most starts have no reader. */
function pageRoute(app: HttpServer, path: string, operation: string, create: () => Page): void {
  let page: Page | undefined
  app.get(path, { config: { guard: 'public', operation }, schema: { hide: true } }, (_request, reply) => {
    page ??= create()
    return sendPage(reply, page)
  })
}
