import type { IncomingMessage } from 'node:http'
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox'
import createFastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type RawReplyDefaultExpression,
  type RawRequestDefaultExpression,
  type RawServerDefault,
} from 'fastify'
import type { Logger } from 'pino'
import type { LoggingConfig } from '../config/logging.ts'
import { type Clock, systemClock } from '../lib/clock.ts'
import { type AuthenticationOptions, addAuthentication } from './access/authentication.ts'
import { addCors, createOriginPolicy } from './access/cors.ts'
import { isReadOfDashboard } from './access/dashboard-read.ts'
import type { Origins } from './access/origins.ts'
import type { ServerConfig } from './config.ts'
import { addErrorHandling, sendError } from './errors/error-handler.ts'
import { httpErrors } from './errors/errors.ts'
import { FailureLog } from './errors/failure-log.ts'
import { addProtocolErrors, answerClientError, keepAliveMs } from './errors/protocol-errors.ts'
import { type Metrics, measureRequests } from './observation/metrics.ts'
import { logRequests } from './observation/request-log.ts'
import { addRequestObservers, type RequestObserver } from './observation/request-observer.ts'
import { collectApiDocument } from './plugins/api-document.ts'
import { acceptAbsoluteForm } from './requests/absolute-form.ts'
import { acceptJson, decodeBodies } from './requests/body.ts'
import { trackClients } from './requests/client-presence.ts'
import { addExpectation } from './requests/expectation.ts'
import { addForwardedFor } from './requests/forwarded-for.ts'
import { compileValidator, refuseUndeclaredParameters } from './requests/parameters.ts'
import { answerInOrder } from './requests/pipelining.ts'
import { parseQuery } from './requests/query-string.ts'
import { addCompression } from './responses/compression.ts'
import {
  addResponseHeaders,
  createHeaderSetter,
  createRequestIds,
  securityHeaders,
} from './responses/response-headers.ts'
import { indexRoutes } from './route-index.ts'
import './route-config.ts'
import { Upgrades } from './requests/upgrade.ts'

/** Server that features add their routes to. Handlers infer their types from the schemas. */
export type HttpServer = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>

export interface HttpServerOptions {
  readonly config: { readonly server: ServerConfig; readonly logging: LoggingConfig }
  readonly authentication: AuthenticationOptions
  readonly origins: Origins
  readonly metrics: Metrics
  readonly log: Logger
  /** Logger of request lines; `log` by default. */
  readonly requestLog?: Logger
  /** Observers of every completed request. */
  readonly observers?: readonly RequestObserver[]
  /** Returns the URL that a raw request is routed to. */
  readonly rewriteUrl?: (request: IncomingMessage) => string
  /** Clock; the system clock by default. */
  readonly clock?: Clock
  /** Returns the URL at which clients reach the server; it is final only once the server listens. */
  readonly publicBaseUrl: () => string
  /** True if errors of the operator's own definitions carry the text of PostgreSQL for every caller. */
  readonly isDevelopment?: boolean
  /** Returns true if reads by the dashboard are logged and counted; without it, the configuration applies. */
  readonly logsDashboardReads?: () => boolean
  /** Version in the API document. */
  readonly version: string
}

/**
 * Maximum size of path, query and headers together. This is Node's default, stated because the URL of a list
 * can be long.
 */
const headerLimitBytes = 16_384

/** Creates the HTTP platform, which is the same for every feature. Features add the routes. */
export async function createHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  const { server } = options.config
  const referenceUrl = () => `${options.publicBaseUrl()}/docs/errors`
  const headers = securityHeaders(server.public_base_url.startsWith('https:'))
  const setHeaders = createHeaderSetter(headers)
  const allowOrigin = createOriginPolicy(options.origins)
  const upgrades = new Upgrades()
  const app = createFastify({
    logger: false,
    genReqId: createRequestIds(options.clock ?? systemClock),
    ...(options.rewriteUrl === undefined ? {} : { rewriteUrl: options.rewriteUrl }),
    bodyLimit: server.body_limit,
    trustProxy: server.trusted_proxies.length === 0 ? false : [...server.trusted_proxies],
    requestTimeout: server.request_timeout * 1000,
    connectionTimeout: 0,
    keepAliveTimeout: keepAliveMs,
    forceCloseConnections: 'idle',
    return503OnClosing: false,
    routerOptions: {
      ignoreTrailingSlash: true,
      // A primary key can be a long percent-encoded text: as long as the request line may be.
      maxParamLength: headerLimitBytes,
      querystringParser: parseQuery,
    },
    http: {
      // A hook rejects these requests instead, with our own message.
      requireHostHeader: false,
      maxHeaderSize: headerLimitBytes,
      headersTimeout: server.header_timeout * 1000,
      // Node compares the two limits when it creates the server, so this one is set here, too.
      requestTimeout: server.request_timeout * 1000,
      // Node checks for slow clients only this often.
      connectionsCheckingInterval: 1000,
      shouldUpgradeCallback: (request) => upgrades.accepts(request),
    },
    // A path with invalid percent-encoding never reaches a route or a hook.
    frameworkErrors: (_error, request, reply) => {
      setHeaders(request, reply)
      allowOrigin(request, reply)
      const where = { request, reply, referenceUrl: referenceUrl(), bodyLimit: server.body_limit }
      sendError(httpErrors.malformedRequest(), where)
    },
    clientErrorHandler: (error, socket) => answerClientError(error, socket, headers, referenceUrl()),
  }).withTypeProvider<TypeBoxTypeProvider>()
  app.server.maxConnections = server.max_connections
  answerInOrder(app)
  acceptAbsoluteForm(app)
  app.setValidatorCompiler(compileValidator)
  // Handlers return exactly the response; response schemas are for the API document.
  app.setSerializerCompiler(() => (payload) => JSON.stringify(payload))
  refuseUndeclaredParameters(app)
  acceptJson(app)
  decodeBodies(app)

  if (server.trusted_proxies.length > 0) addForwardedFor(app)
  const allowedMethods = indexRoutes(app, headerLimitBytes)
  addResponseHeaders(app, setHeaders)
  addCors(app, allowOrigin)
  addProtocolErrors(app, headers, referenceUrl)
  upgrades.route(app)
  addExpectation(app)
  if (server.compression === 'auto') addCompression(app)
  const { logsDashboardReads = () => options.config.logging.dashboard_reads } = options
  const observers = [
    measureRequests(options.metrics),
    logRequests(options.requestLog ?? options.log, options.config.logging),
    ...(options.observers ?? []),
  ]
  addRequestObservers(app, observers, {
    clock: options.clock ?? systemClock,
    isOmitted: (request) => !logsDashboardReads() && isReadOfDashboard(request),
  })
  const failures = new FailureLog(options.log, options.clock)
  addErrorHandling(app, {
    ...{ failures, referenceUrl, bodyLimit: server.body_limit, allowedMethods },
    isDevelopment: options.isDevelopment,
  })
  await collectApiDocument(app, options.version)
  addAuthentication(app, options.authentication, options.origins)
  trackClients(app)
  return app
}
