import type { UserIdentity } from '../../../http/access/identity.ts'
import { httpErrors } from '../../../http/errors/errors.ts'

/**
 * Returns whether the session began with two factors: a first and a second one, or a passkey. A passkey is
 * something one has and, because it verified its user, something one knows or is.
 */
export function hasTwoFactors({ aal, amr }: UserIdentity): boolean {
  return aal === 'aal2' || amr[0] === 'webauthn'
}

/** Rejects a session of one factor. @throws AppError insufficient_aal */
export function requireTwoFactors(identity: UserIdentity): void {
  if (!hasTwoFactors(identity)) throw httpErrors.insufficientAal()
}
