import { isLoopback } from '../lib/addresses.ts'

/** Keys that say where the server is reached, and by whom. */
export interface Deployment {
  readonly auth: { readonly enabled: boolean }
  readonly database: { readonly url: string; readonly require_rls: boolean | 'auto' }
  readonly server: { readonly host: string; readonly public_base_url: string }
  readonly webhooks: { readonly allow_private_targets: boolean | 'auto' }
}

/**
 * On a developer's own machine: the embedded database, and an address that no other machine reaches. There, and only there,
 * codes and links stand in the log, a common password is accepted with a warning, and limits per address are wide.
 */
export function isDevelopment({ database, server }: Pick<Deployment, 'database' | 'server'>): boolean {
  return database.url === '' && isReachedAtLoopback(server)
}

/**
 * Returns whether relations without row-level security are kept from callers: by default beside an external database, which had
 * tables before callers had tokens.
 */
export function requiresRls({
  auth,
  database: { require_rls, url },
}: Pick<Deployment, 'auth' | 'database'>): boolean {
  return require_rls === 'auto' ? auth.enabled && url !== '' : require_rls
}

/** Returns whether requests may go to private addresses that users name. */
export function allowsPrivateTargets({
  server,
  webhooks: { allow_private_targets },
}: Pick<Deployment, 'server' | 'webhooks'>): boolean {
  return allow_private_targets === 'auto' ? isReachedAtLoopback(server) : allow_private_targets
}

/** Returns whether only this machine reaches the server. */
export function isReachedAtLoopback({ host, public_base_url: url }: Deployment['server']): boolean {
  return isLoopback(url === '' ? host : new URL(url).hostname)
}
