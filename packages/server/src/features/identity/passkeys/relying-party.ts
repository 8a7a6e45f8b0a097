import { isIP } from 'node:net'
import { isLoopback } from '../../../lib/addresses.ts'
import type { PasskeyContext } from './context.ts'
import { passkeyErrors } from './errors.ts'

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

/** Returns the relying party. @throws AppError webauthn_disabled, passkeys_need_domain */
export function requireRelyingParty({ mfa, publicBaseUrl }: PasskeyContext): RelyingParty {
  if (!mfa.accounts.settings.current.webauthn_enabled) throw passkeyErrors.webauthnDisabled()
  const party = relyingPartyOf(publicBaseUrl())
  if (party === undefined) throw passkeyErrors.passkeysNeedDomain(new URL(publicBaseUrl()).hostname)
  return party
}
