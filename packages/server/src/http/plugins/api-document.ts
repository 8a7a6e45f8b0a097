import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { HttpServer } from '../server.ts'

export interface ApiDocumentOptions {
  readonly version: string
  readonly publicBaseUrl: () => string
}

/** Collects the schemas of every route added later into an OpenAPI 3.1 document. */
export async function collectApiDocument(app: HttpServer, { version }: ApiDocumentOptions): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Basalt',
        version,
        description:
          'The REST API over the tables of the database, and the administration of the server. ' +
          '`GET /api/schema` tells which tables there are. Every error has the same envelope; ' +
          'the [error reference](/api/docs/errors) lists its kinds.',
      },
      components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
      tags: [
        { name: 'collections', description: 'Records of tables and views.' },
        { name: 'accounts', description: 'Signing up, in and out.' },
        { name: 'mfa', description: 'Second factors.' },
        { name: 'passkeys', description: 'Passkeys, as first and second factor.' },
        { name: 'mail', description: 'Texts of mail.' },
        { name: 'realtime', description: 'Changes and messages, as they happen.' },
        { name: 'webhooks', description: 'Changes, posted to receivers.' },
        { name: 'jobs', description: 'Work in the background and its schedules.' },
        { name: 'materialized views', description: 'Views that are refreshed.' },
        { name: 'schema', description: 'What the database holds.' },
        { name: 'admin', description: 'The administrator.' },
        { name: 'operations', description: 'Running the server.' },
      ],
    },
  })
  // Clients generated from the document find each operation under the name that logs and metrics have.
  app.addHook('onRoute', (route) => {
    const { operation } = route.config ?? {}
    if (operation !== undefined && route.method !== 'HEAD') {
      route.schema = { operationId: operation, ...route.schema }
    }
  })
  // The page's own routes come from a plugin that knows nothing of guards.
  app.addHook('onRoute', (route) => {
    if (route.url.startsWith(pagePath)) {
      route.config = { guard: 'public', operation: 'reference.page', ...route.config }
    }
  })
}

const pagePath = '/api/docs'

/** Serves the document as `/api/openapi.json` and as a page at `/api/docs`, both from this server alone. */
export async function serveApiDocument(app: HttpServer, options: ApiDocumentOptions): Promise<void> {
  let document: string | undefined
  app.get(
    '/api/openapi.json',
    { config: { guard: 'public', operation: 'reference.openapi' }, schema: { hide: true } },
    (_request, reply) => {
      document ??= JSON.stringify({ ...app.swagger(), servers: [{ url: options.publicBaseUrl() }] })
      void reply.type('application/json; charset=utf-8').send(document)
    },
  )
  await app.register(swaggerUi, {
    routePrefix: pagePath,
    // Swagger UI asks nobody but this server, and sets its styles through the DOM.
    staticCSP:
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; " +
      "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    uiConfig: { deepLinking: true, persistAuthorization: false, tryItOutEnabled: true },
    theme: { title: 'Basalt API' },
  })
}
