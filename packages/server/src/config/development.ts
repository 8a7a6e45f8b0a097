import { isLoopback } from '../lib/addresses.ts'
import type { Config } from './schema.ts'

/**
 * On a developer's own machine: the embedded database, and an address that no other machine reaches. There, and only there,
 * codes and links stand in the log, a common password is accepted with a warning, and limits per address are wide.
 */
export function isDevelopment({ database, server }: Config): boolean {
  return database.url === '' && isReachedAtLoopback(server)
}

/**
 * Returns whether relations without row-level security are kept from callers: by default beside an external database, which had
 * tables before callers had tokens.
 */
export function requiresRls({ auth, database: { require_rls, url } }: Config): boolean {
  return require_rls === 'auto' ? auth.enabled && url !== '' : require_rls
}

/** Whether requests may go to private addresses that users name. */
export function allowsPrivateTargets({ server, webhooks: { allow_private_targets } }: Config): boolean {
  return allow_private_targets === 'auto' ? isReachedAtLoopback(server) : allow_private_targets
}

/** Whether only this machine reaches the server. */
export function isReachedAtLoopback({ host, public_base_url: url }: Config['server']): boolean {
  return isLoopback(url === '' ? host : new URL(url).hostname)
}
