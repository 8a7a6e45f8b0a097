import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { type TypeBoxTypeProvider, TypeBoxValidatorCompiler } from '@fastify/type-provider-typebox'
import createFastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type RawReplyDefaultExpression,
  type RawRequestDefaultExpression,
  type RawServerDefault,
} from 'fastify'
import type { Logger } from 'pino'
import type { Config } from '../config/schema.ts'
import type { AppError } from '../lib/errors.ts'
import { type AuthenticationOptions, addAuthentication } from './authentication.ts'
import { acceptJson } from './body.ts'
import { addCors } from './cors.ts'
import { addErrorHandling, errorEnvelope, sendError } from './error-handler.ts'
import { httpErrors } from './errors.ts'
import { addMetrics, type Metrics } from './metrics.ts'
import { addApiDocument } from './plugins/api-document.ts'
import { addRequestLog } from './request-log.ts'
import { addResponseHeaders, requestId } from './response-headers.ts'
import { indexRoutes } from './route-index.ts'
import './route-config.ts'

/** The server that features add their routes to; handlers get types from their schemas. */
export type HttpServer = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>

export interface HttpServerOptions {
  readonly config: Pick<Config, 'server' | 'logging'>
  readonly authentication: AuthenticationOptions
  readonly metrics: Metrics
  readonly log: Logger
  /** Where clients reach the server; known for certain only once it listens. */
  readonly publicBaseUrl: () => string
  /** Version in the API document. */
  readonly version: string
}

/** Path, query and headers together; Node's default, stated because the URL of a list can be long. */
const headerLimitBytes = 16_384

/** The HTTP platform: everything that is the same for every feature. Routes are added by the features. */
export async function createHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { server } = options.config
  const referenceUrl = () => `${options.publicBaseUrl()}/api/docs/errors`
  const app = createFastify({
    logger: false,
    genReqId: requestId,
    bodyLimit: server.body_limit,
    trustProxy: server.trusted_proxies.length === 0 ? false : [...server.trusted_proxies],
    requestTimeout: server.request_timeout * 1000,
    connectionTimeout: 0,
    keepAliveTimeout: 75_000,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    // A primary key can be a long text, percent-encoded.
    routerOptions: { ignoreTrailingSlash: true, maxParamLength: 8192 },
    http: {
      maxHeaderSize: headerLimitBytes,
      headersTimeout: server.header_timeout * 1000,
      // Node looks for slow clients only this often.
      connectionsCheckingInterval: 1000,
    },
    // A path that is not valid percent-encoding never reaches a route.
    frameworkErrors: (_error, request, reply) => {
      void reply.header('x-request-id', request.id)
      sendError(reply, httpErrors.malformedRequest(), referenceUrl())
    },
    clientErrorHandler: (error, socket) => answerClientError(error, socket, referenceUrl()),
  }).withTypeProvider<TypeBoxTypeProvider>()
  app.server.maxConnections = server.max_connections
  app.setValidatorCompiler(TypeBoxValidatorCompiler)
  // Handlers answer what they mean to; schemas of responses are for the API document.
  app.setSerializerCompiler(() => (payload) => JSON.stringify(payload))
  acceptJson(app)

  const allowedMethods = indexRoutes(app)
  addResponseHeaders(app, { isHttps: server.public_base_url.startsWith('https:') })
  addCors(app, server.cors_allowed_origins)
  await addApiDocument(app, { version: options.version, publicBaseUrl: options.publicBaseUrl })
  addMetrics(app, options.metrics)
  addRequestLog(app, options.log, options.config.logging.requests)
  addErrorHandling(app, { log: options.log, referenceUrl, bodyLimit: server.body_limit, allowedMethods })
  addAuthentication(app, options.authentication)
  return app
}

/** What Node's parser refuses never becomes a request: the envelope is written by hand. */
function answerClientError(error: NodeJS.ErrnoException, socket: Socket, referenceUrl: string): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const refusal = clientErrors[error.code ?? ''] ?? httpErrors.malformedRequest()
  const body = JSON.stringify(errorEnvelope(refusal, referenceUrl))
  const head = [
    `HTTP/1.1 ${refusal.status} ${STATUS_CODES[refusal.status]}`,
    'Content-Type: application/json; charset=utf-8',
    `Content-Length: ${Buffer.byteLength(body)}`,
    `X-Request-Id: ${crypto.randomUUID()}`,
    'Connection: close',
  ]
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}

const clientErrors: Readonly<Record<string, AppError>> = {
  ERR_HTTP_REQUEST_TIMEOUT: httpErrors.requestTimeout(),
  HPE_HEADER_OVERFLOW: httpErrors.headersTooLarge(),
}
