import type { AddressInfo } from 'node:net'
import type { Config } from '../config/schema.ts'
import { httpOrigin } from '../lib/addresses.ts'
import { codeOf, messageOf, OperatorError } from '../lib/errors.ts'
import type { HttpServer } from './server.ts'

/** @throws OperatorError when the address is taken or is not this machine's */
export async function listen(http: HttpServer, { host, port }: Config['server']): Promise<void> {
  try {
    // Fastify would give `localhost` a second server for ::1, to which neither limits nor the shutdown apply.
    await http.listen({ host: host === 'localhost' ? '127.0.0.1' : host, port })
  } catch (error) {
    if (codeOf(error) === 'EADDRINUSE') {
      throw new OperatorError(`${host}:${port} is taken by another program: stop it or set server.port`)
    }
    throw new OperatorError(`cannot listen on ${host}:${port}: ${messageOf(error)}`)
  }
}

/** Origin of the server on this machine. Port 0 stands for one that the system chooses when the server listens. */
export function localOrigin(http: HttpServer, { host, port }: Config['server']): string {
  const address = http.server.address() as AddressInfo | null
  return httpOrigin(host, address?.port ?? port)
}
