import { once } from 'node:events'
import type { AddressInfo, Server } from 'node:net'
import { httpOrigin } from '../lib/addresses.ts'
import { codeOf, messageOf, OperatorError } from '../lib/errors.ts'
import type { ServerConfig } from './config.ts'
import type { HttpServer } from './server.ts'

/** Starts to listen. @throws OperatorError when the address is in use or does not belong to this machine */
export async function listen(http: HttpServer, { host, port }: ServerConfig): Promise<void> {
  try {
    // For `localhost` Fastify would create a second server on ::1, to which neither limits nor the shutdown
    // apply.
    await http.listen({ host: ofOneAddress(host), port })
  } catch (error) {
    throw cannotListen(error, { host, port, key: 'server.port' })
  }
}

interface ListenAddress {
  readonly host: string
  readonly port: number
  /** Configuration key, for the message. */
  readonly key: string
}

/** Starts to listen. @throws OperatorError when the address is in use or does not belong to this machine */
export async function listenOn(server: Server, address: ListenAddress): Promise<void> {
  try {
    server.listen({ host: ofOneAddress(address.host), port: address.port })
    await once(server, 'listening')
  } catch (error) {
    throw cannotListen(error, address)
  }
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
