import { isLoopback } from '../lib/addresses.ts'
import type { Config } from './schema.ts'

/**
 * On a developer's own machine: the embedded database, and an address that no other machine reaches. There, and only there,
 * codes and links stand in the log, a common password is accepted with a warning, and limits per address are wide.
 */
export function isDevelopment({ database, server }: Config): boolean {
  return database.url === '' && isReachedAtLoopback({ server })
}

/** Whether the server itself is reached at a loopback address. */
export function isReachedAtLoopback({ server }: Pick<Config, 'server'>): boolean {
  return isLoopback(server.public_base_url === '' ? server.host : new URL(server.public_base_url).hostname)
}
