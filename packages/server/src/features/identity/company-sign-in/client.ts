import { normalizeEmail } from '../../../lib/email-address.ts'
import type { ProviderPerson } from '../../operations/admin/index.ts'
import { type Profile, ProviderFailure } from '../social-login/index.ts'
import type { CompanySignInContext } from './context.ts'

type ClaimRules = Pick<CompanySignInContext, 'groupsClaim' | 'trustedFactors'>

/** Reads the person from the claims of a verified id_token. @throws ProviderFailure */
export function readPerson(
  { subject, email, isEmailVerified, claims = {} }: Profile,
  { groupsClaim, trustedFactors }: ClaimRules,
): ProviderPerson {
  const groups = claims[groupsClaim]
  // A list of groups that is elsewhere is not an empty list (OpenID Connect Core §5.6.2).
  const elsewhere = claims._claim_names
  if (
    groups === undefined &&
    typeof elsewhere === 'object' &&
    elsewhere !== null &&
    groupsClaim in elsewhere
  ) {
    throw new ProviderFailure(`the claim ${groupsClaim} is distributed: the person has too many groups`)
  }
  const { auth_time: time } = claims
  const factors = [...textsOf(claims.amr), ...textsOf(claims.acr)]
  return {
    subject,
    email: isEmailVerified && email !== undefined ? normalizeEmail(email) : undefined,
    groups: textsOf(groups),
    isMultiFactor: factors.some((factor) => trustedFactors.includes(factor)),
    authenticatedAt: typeof time === 'number' && time >= 0 && time < latestTime ? time : undefined,
  }
}

/** Seconds since 1970 that a timestamp of the database can hold. */
const latestTime = 100_000_000_000

/** Returns the texts of a claim that is a text or a list. */
function textsOf(claim: unknown): string[] {
  return (Array.isArray(claim) ? claim : [claim]).filter((value) => typeof value === 'string')
}
