import { sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import type { AdministratorRole } from '../../../../http/access/permissions.ts'
import type { RequestOrigin } from '../../../../http/requests/request-origin.ts'
import { normalizeEmail } from '../../../../lib/email-address.ts'
import { createToken, hashToken } from '../../../../lib/tokens.ts'
import { recordAudit } from '../../audit/index.ts'
import type { AdminDeps } from '../context.ts'
import { adminErrors } from '../errors.ts'
import { deleteIdentities } from '../provider/identities.ts'
import { insertSignInCode } from '../queries.ts'
import { removeAllFactors } from '../second-factor/factors.ts'
import { mailRemovedFactor } from '../second-factor/notice.ts'
import { type Administrator, insertAdministrator, insertPasswordCode } from './administrator.ts'

export const passwordCodePrefix = 'basalt_password_'
const invitationSeconds = 7 * 24 * 60 * 60
const signInCodePrefix = 'basalt_signin_'
const signInCodeSeconds = 60 * 60

/** Creates a code that signs in without a password, once. */
export async function createSignInCode(transaction: Queryable, administratorId: string): Promise<string> {
  const code = createToken(signInCodePrefix)
  await insertSignInCode(transaction, administratorId, hashToken(code), signInCodeSeconds)
  return code
}

/** Code with which an administrator sets a password, once. */
export interface Invitation {
  readonly code: string
  readonly expiresAt: Date
}

/** Actor of a change, for the audit log. */
interface By {
  readonly actor: string
  readonly origin?: RequestOrigin
}

/**
 * Inserts an administrator, who signs in once the invitation is accepted.
 *
 * @param onAdded work in the same transaction
 * @returns the administrator, and the invitation to set a password, if passwords sign in
 * @throws AppError invalid_administrator_email, administrator_exists
 */
export async function addAdministrator(
  { database, methods }: Pick<AdminDeps, 'database' | 'methods'>,
  given: { readonly email: string; readonly role: AdministratorRole },
  by: By,
  onAdded?: (transaction: Queryable, administrator: Administrator) => Promise<void>,
): Promise<{ readonly administrator: Administrator; readonly invitation: Invitation | null }> {
  const { role } = given
  const email = requireAddress(given.email)
  return await database.transaction(async (transaction) => {
    const administrator = await insertAdministrator(transaction, { email, role })
    if (administrator === undefined) throw adminErrors.administratorExists(email)
    const { id } = administrator
    const invitation = methods.password ? await createInvitation(transaction, id) : null
    await onAdded?.(transaction, administrator)
    await recordAudit(transaction, {
      ...by,
      action: 'administrators.invite',
      target: id,
      detail: { email, role },
    })
    return { administrator, invitation }
  })
}

/** Creates a code for a new password. */
export async function createInvitation(transaction: Queryable, administratorId: string): Promise<Invitation> {
  const code = createToken(passwordCodePrefix)
  const { expiresAt } = await insertPasswordCode(
    transaction,
    administratorId,
    hashToken(code),
    invitationSeconds,
  )
  return { code, expiresAt }
}

/**
 * Makes an administrator an enabled owner, ends their sessions, codes, password, factors and account at the provider,
 * and creates a code.
 *
 * @param email undefined for the first administrator
 * @returns the code, which sets a new password, or signs in where passwords do not
 * @throws AppError administrator_not_found
 */
export async function recoverAdministrator(
  { database, methods }: Pick<AdminDeps, 'database' | 'methods'>,
  email: string | undefined,
  by: By,
): Promise<string> {
  const isMeant = email === undefined ? sql`is_first` : sql`lower(email) = lower(${email.trim()})`
  return await database.transaction(async (transaction) => {
    // The use of a code locks the code, then the administrator. Another order would deadlock.
    await transaction.count(sql`
      delete from basalt.admin_sign_in_codes
      where administrator_id in (select id from basalt.administrators where ${isMeant})`)
    const found = await transaction.maybeOne<{ id: string }>(sql`
      update basalt.administrators
      set role = 'owner', disabled_at = null, password_hash = null, updated_at = now()
      where ${isMeant}
      returning id`)
    if (found === undefined) throw adminErrors.administratorNotFound()
    await transaction.count(sql`delete from basalt.admin_sessions where administrator_id = ${found.id}`)
    await deleteIdentities(transaction, found.id)
    const removedFactors = await removeAllFactors(transaction, found.id)
    if (removedFactors > 0) await mailRemovedFactor(transaction, found.id)
    await recordAudit(transaction, {
      ...by,
      action: 'administrators.recover',
      target: found.id,
      detail: { removedFactors },
    })
    if (!methods.password) return await createSignInCode(transaction, found.id)
    return (await createInvitation(transaction, found.id)).code
  })
}

/** Returns the page that sets the password. The code is in the fragment, which browsers keep out of requests. */
export function passwordLink(dashboardUrl: string | undefined, code: string): string | null {
  return dashboardUrl === undefined ? null : `${dashboardUrl}/set-password#code=${code}`
}

/** Returns the normalized address. @throws AppError invalid_administrator_email */
export function requireAddress(text: string): string {
  const address = normalizeEmail(text)
  if (address === undefined) throw adminErrors.invalidAdministratorEmail()
  return address
}
