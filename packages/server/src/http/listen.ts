import { once } from 'node:events'
import { type AddressInfo, createServer, type Server } from 'node:net'
import { httpOrigin } from '../lib/addresses.ts'
import { codeOf, messageOf, OperatorError } from '../lib/errors.ts'
import type { ServerConfig } from './config.ts'
import type { HttpServer } from './server.ts'

/**
 * Starts to listen.
 *
 * @throws OperatorError when the address is in use or does not belong to this machine
 */
export async function listen(
  http: HttpServer,
  { host, port }: ServerConfig,
  sharing?: PortSharing,
): Promise<void> {
  // For `localhost` Fastify would create a second server on ::1, to which neither limits nor the shutdown apply.
  await open(http.server, { host, port, key: 'server.port' }, sharing, (options) => http.listen(options))
}

interface ListenAddress {
  readonly host: string
  readonly port: number
  /** Configuration key, for the message, and name of the socket among workers. */
  readonly key: SocketName
}

/**
 * Starts to listen.
 *
 * @throws OperatorError when the address is in use or does not belong to this machine
 */
export async function listenOn(server: Server, address: ListenAddress, sharing?: PortSharing): Promise<void> {
  await open(server, address, sharing, async (options) => {
    server.listen(options)
    await once(server, 'listening')
  })
}

export type SocketName = 'server.port' | 'admin.listen'

/** Ports that several processes share. */
export interface PortSharing {
  /** Returns the socket that another process has opened for this one, or else how to open one. */
  socketOf(name: SocketName): SharedSocket
  /** Receives each server that listens. @param isOpened true if this process has opened its socket */
  onListening(name: SocketName, server: Server, isOpened: boolean): void
}

export type SharedSocket =
  | { readonly handle: object }
  /** Port of the other processes; undefined for the first one. */
  | { readonly port: number | undefined; readonly reusePort: boolean }

interface ListenOptions {
  host: string
  port: number
  reusePort?: boolean
  handle?: object
}

async function open(
  server: Server,
  address: ListenAddress,
  sharing: PortSharing | undefined,
  start: (options: ListenOptions) => Promise<unknown>,
): Promise<void> {
  const host = ofOneAddress(address.host)
  const { port, key } = address
  try {
    const socket = sharing?.socketOf(key)
    if (socket === undefined) {
      await start({ host, port })
    } else if ('handle' in socket) {
      // Node's option for a socket that listens already; Fastify passes it on.
      await start({ host, port, handle: socket.handle })
    } else {
      // The system would also share the port with servers of other data directories.
      if (socket.port === undefined && port !== 0) await requireFree({ host, port })
      await start({ host, port: socket.port ?? port, reusePort: socket.reusePort })
    }
    if (socket !== undefined) sharing?.onListening(key, server, !('handle' in socket))
  } catch (error) {
    throw cannotListen(error, address)
  }
}

/** Opens and closes a port without sharing it. It fails if another program has the port. */
async function requireFree(address: { host: string; port: number }): Promise<void> {
  const server = createServer().listen(address)
  await once(server, 'listening')
  await new Promise((resolve) => server.close(resolve))
}

function ofOneAddress(host: string): string {
  return host === 'localhost' ? '127.0.0.1' : host
}

function cannotListen(error: unknown, { host, port, key }: ListenAddress): OperatorError {
  return codeOf(error) === 'EADDRINUSE'
    ? new OperatorError(`${host}:${port} is taken by another program: stop it or set ${key}`)
    : new OperatorError(`cannot listen on ${host}:${port}: ${messageOf(error)}`)
}

/** URL at which clients reach the server: `server.public_base_url`, else its origin on this machine. */
export class PublicUrl {
  readonly #config: ServerConfig
  #server: Server | undefined

  constructor(config: ServerConfig) {
    this.#config = config
  }

  /** Reads the port from this server once it listens. With port 0 the system chooses one. */
  follow(server: Server): void {
    this.#server = server
  }

  get current(): string {
    const { public_base_url: configured, host, port } = this.#config
    const address = this.#server?.address() as AddressInfo | null | undefined
    return configured || httpOrigin(host, address?.port ?? port)
  }
}
