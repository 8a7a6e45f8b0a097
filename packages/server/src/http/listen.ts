import { once } from 'node:events'
import type { AddressInfo, Server } from 'node:net'
import { httpOrigin } from '../lib/addresses.ts'
import { codeOf, messageOf, OperatorError } from '../lib/errors.ts'
import type { ServerConfig } from './config.ts'
import type { HttpServer } from './server.ts'

/** @throws OperatorError when the address is taken or is not this machine's */
export async function listen(http: HttpServer, { host, port }: ServerConfig): Promise<void> {
  try {
    // Fastify would give `localhost` a second server for ::1, to which neither limits nor the shutdown apply.
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

/** @throws OperatorError when the address is taken or is not this machine's */
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

/** Origin of the server on this machine. Port 0 stands for one that the system chooses when the server listens. */
export function localOrigin(http: HttpServer, { host, port }: ServerConfig): string {
  const address = http.server.address() as AddressInfo | null
  return httpOrigin(host, address?.port ?? port)
}
