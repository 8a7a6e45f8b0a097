import { isIP } from 'node:net'
import { isLoopback } from '../../../lib/addresses.ts'
import type { PasskeyContext } from './context.ts'
import { passkeyErrors } from './errors.ts'

/** Relying party (WebAuthn L3 §4). */
export interface RelyingParty {
  /** A domain. */
  readonly id: string
  /** Only origin whose pages may use the passkeys. */
  readonly origin: string
}

/**
 * Returns the relying party of a public address. Addresses of this machine stand for `localhost`, which browsers take for a
 * domain; any other address can have no passkeys.
 */
export function relyingPartyOf(publicBaseUrl: string): RelyingParty | undefined {
  const url = new URL(publicBaseUrl)
  if (isLoopback(url.hostname)) url.hostname = 'localhost'
  if (isIP(url.hostname.replace(/^\[|\]$/g, '')) !== 0) return undefined
  return { id: url.hostname, origin: url.origin }
}

/** @throws AppError webauthn_disabled, passkeys_need_domain */
export function requireRelyingParty({ mfa, publicBaseUrl }: PasskeyContext): RelyingParty {
  if (!mfa.accounts.settings.current.webauthn_enabled) throw passkeyErrors.webauthnDisabled()
  const party = relyingPartyOf(publicBaseUrl())
  if (party === undefined) throw passkeyErrors.passkeysNeedDomain(new URL(publicBaseUrl()).hostname)
  return party
}
