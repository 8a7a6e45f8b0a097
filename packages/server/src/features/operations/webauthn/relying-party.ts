import { isIP } from 'node:net'
import { isLoopback } from '../../../lib/addresses.ts'

/** Relying party (WebAuthn L3 §4). */
export interface RelyingParty {
  /** Domain of the relying party. */
  readonly id: string
  /** Origin whose pages may use the passkeys. No other origin may. */
  readonly origin: string
}

/**
 * Returns the relying party of a public address. Loopback addresses are mapped to `localhost`, which browsers
 * accept as a domain. Other IP addresses cannot have passkeys.
 */
export function relyingPartyOf(publicBaseUrl: string): RelyingParty | undefined {
  const url = new URL(publicBaseUrl)
  if (isLoopback(url.hostname)) url.hostname = 'localhost'
  if (isIP(url.hostname.replace(/^\[|\]$/g, '')) !== 0) return undefined
  return { id: url.hostname, origin: url.origin }
}
