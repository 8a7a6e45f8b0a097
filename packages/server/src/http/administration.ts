import { createServer, type Server, type Socket } from 'node:net'
import type { FastifyInstance, FastifyRequest, RouteOptions } from 'fastify'
import createRouter from 'find-my-way'
import { createAllowlist, httpOrigin } from '../lib/addresses.ts'
import { httpErrors } from './errors/errors.ts'
import { listenOn, type PortSharing } from './listen.ts'

/** Listener for administration alone. */
export interface AdminListener {
  /** Starts to listen. @throws OperatorError when the address is in use */
  listen(sharing?: PortSharing): Promise<void>
  /** Returns the dashboard's origin on this machine; it is final only once the listener listens. */
  origin(): string
  /** Stops accepting connections. */
  close(): void
}

/** Addresses and paths of the dashboard and the administration API. */
export interface AdministrationAccess {
  readonly allowed_ips: readonly string[]
  readonly listen: string
  readonly path: string
}

/**
 * Restricts the dashboard and the administration API to the addresses in `admin.allowed_ips` and to
 * `admin.listen`. Other routes run no hook for it.
 *
 * @returns the listener, when one is configured
 */
export function confineAdministration(
  app: FastifyInstance,
  { allowed_ips: allowedIps, listen, path }: AdministrationAccess,
  maxConnections: number,
): AdminListener | undefined {
  const listener = listen === '' ? undefined : createAdminListener(app, listen, maxConnections)
  const isAllowed = createAllowlist(allowedIps)
  const confined = new Set<string>()
  if (listener !== undefined || allowedIps.length > 0) {
    app.addHook('onRoute', (route) => {
      if (!isAdministrative(route, path)) return
      confined.add(route.url)
      const before = route.onRequest ?? []
      route.onRequest = [
        (request: FastifyRequest, _reply: unknown, done: (error?: Error) => void) => {
          if (listener !== undefined && !listener.isOf(request.raw.socket)) {
            const [target = ''] = request.url.split('?', 1)
            done(httpErrors.routeNotFound(request.method, target))
          } else done(isAllowed(request.ip) ? undefined : httpErrors.accessDenied())
        },
        ...(Array.isArray(before) ? before : [before]),
      ]
    })
  }
  if (listener !== undefined) hideFromOthers(app, listener, confined)
  return listener
}

/** Maximum length of a path, which is longer than the head of a request may be. */
const mostPathLength = 65_536

/**
 * Returns 404 for a wrong method elsewhere, too: 405 and `Allow` would reveal the routes. Such a request has no
 * route of its own.
 */
function hideFromOthers(
  app: FastifyInstance,
  listener: { isOf(socket: Socket): boolean },
  urls: ReadonlySet<string>,
): void {
  let router: ReturnType<typeof createRouter> | undefined
  const isConfined = (path: string) => {
    // The router is built at the first wrong method, which rarely comes.
    if (router === undefined) {
      router = createRouter({ ignoreTrailingSlash: true, maxParamLength: mostPathLength })
      for (const url of urls) router.on('GET', url, () => undefined)
    }
    return router.find('GET', path) !== null
  }
  app.addHook('onRequest', (request, _reply, done) => {
    if (!request.is404 || listener.isOf(request.raw.socket)) {
      done()
      return
    }
    const [target = ''] = request.url.split('?', 1)
    done(isConfined(target) ? httpErrors.routeNotFound(request.method, target) : undefined)
  })
}

function isAdministrative({ url, config }: RouteOptions, path: string): boolean {
  if (config?.guard === 'admin' || url.startsWith('/api/admin/')) return true
  return url === path || url.startsWith(`${path}/`)
}

/**
 * Creates a listener that hands its connections to the server (Node, `http.Server` event `connection`). The
 * server's limits and shutdown apply to them.
 */
function createAdminListener(
  app: FastifyInstance,
  address: string,
  maxConnections: number,
): AdminListener & { isOf(socket: Socket): boolean } {
  const separator = address.lastIndexOf(':')
  const host = address.slice(0, separator).replace(/^\[|\]$/g, '')
  const port = Number(address.slice(separator + 1))
  const sockets = new WeakSet<Socket>()
  // These are the options with which Node creates the listener of an HTTP server.
  const server: Server = createServer({ allowHalfOpen: true, noDelay: true }, (socket) => {
    sockets.add(socket)
    app.server.emit('connection', socket)
  })
  server.maxConnections = maxConnections
  return {
    isOf: (socket: Socket) => sockets.has(socket),
    listen: (sharing) => listenOn(server, { host, port, key: 'admin.listen' }, sharing),
    origin() {
      const bound = server.address()
      return httpOrigin(host, bound !== null && typeof bound === 'object' ? bound.port : port)
    },
    close: () => void (server.listening && server.close()),
  }
}
