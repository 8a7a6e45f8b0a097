import { type RelyingParty, relyingPartyOf } from '../../operations/webauthn/index.ts'
import type { PasskeyContext } from './context.ts'
import { passkeyErrors } from './errors.ts'

/** Returns the relying party. @throws AppError webauthn_disabled, passkeys_need_domain */
export function requireRelyingParty({ mfa, publicBaseUrl }: PasskeyContext): RelyingParty {
  if (!mfa.accounts.settings.current.webauthn_enabled) throw passkeyErrors.webauthnDisabled()
  const party = relyingPartyOf(publicBaseUrl())
  if (party === undefined) throw passkeyErrors.passkeysNeedDomain(new URL(publicBaseUrl()).hostname)
  return party
}
