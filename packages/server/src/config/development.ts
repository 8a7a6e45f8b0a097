import { isLoopback } from '../lib/addresses.ts'

/** Keys that determine the server's address and its callers. */
export interface Deployment {
  readonly auth: { readonly enabled: boolean }
  readonly database: { readonly url: string; readonly require_rls: boolean | 'auto' }
  readonly server: { readonly host: string; readonly public_base_url: string }
  readonly webhooks: { readonly allow_private_targets: boolean | 'auto' }
}

/**
 * Returns true on a developer's own machine: with the embedded database and a loopback address. Only there the
 * log contains codes and links, a common password is accepted with a warning, and limits per address are wide.
 */
export function isDevelopment({ database, server }: Pick<Deployment, 'database' | 'server'>): boolean {
  return database.url === '' && isReachedAtLoopback(server)
}

/**
 * Returns true if relations without row-level security are closed to callers. That is the default for an
 * external database, whose tables may be older than its API.
 */
export function requiresRls({
  auth,
  database: { require_rls, url },
}: Pick<Deployment, 'auth' | 'database'>): boolean {
  return require_rls === 'auto' ? auth.enabled && url !== '' : require_rls
}

/** Returns true if requests may go to private addresses that users name. */
export function allowsPrivateTargets({
  server,
  webhooks: { allow_private_targets },
}: Pick<Deployment, 'server' | 'webhooks'>): boolean {
  return allow_private_targets === 'auto' ? isReachedAtLoopback(server) : allow_private_targets
}

/** Returns true if only this machine can reach the server. */
export function isReachedAtLoopback({ host, public_base_url: url }: Deployment['server']): boolean {
  return isLoopback(url === '' ? host : new URL(url).hostname)
}
