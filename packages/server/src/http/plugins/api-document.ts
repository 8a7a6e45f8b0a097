import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { HttpServer } from '../server.ts'

export interface ApiDocumentOptions {
  readonly version: string
  readonly publicBaseUrl: () => string
}

/**
 * Collects the schemas of every route added later into an OpenAPI 3.1 document, and serves it as
 * `/api/openapi.json` and as a page at `/api/docs`. Both come from this server alone.
 */
export async function addApiDocument(app: HttpServer, options: ApiDocumentOptions): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Basalt',
        version: options.version,
        description:
          'The REST API over the tables of the database, and the administration of the server. ' +
          '`GET /api/schema` tells which tables there are. Every error has the same envelope; ' +
          'the [error reference](/api/docs/errors) lists its kinds.',
      },
      components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer' } } },
      tags: [
        { name: 'collections', description: 'Records of tables and views.' },
        { name: 'schema', description: 'What the database holds.' },
        { name: 'admin', description: 'The administrator.' },
        { name: 'operations', description: 'Running the server.' },
      ],
    },
  })
  let document: string | undefined
  app.get('/api/openapi.json', { schema: { hide: true } }, (_request, reply) => {
    document ??= JSON.stringify({ ...app.swagger(), servers: [{ url: options.publicBaseUrl() }] })
    void reply.type('application/json; charset=utf-8').send(document)
  })
  await app.register(swaggerUi, {
    routePrefix: '/api/docs',
    staticCSP: true,
    uiConfig: {
      url: '/api/openapi.json',
      deepLinking: true,
      persistAuthorization: false,
      tryItOutEnabled: true,
    },
    theme: { title: 'Basalt API' },
  })
}
