import { sql } from '../../../../database/sql.ts'
import type { Queryable, SystemDatabase } from '../../../../database/system-database.ts'
import type { AdministratorRole } from '../../../../http/access/permissions.ts'
import type { RequestOrigin } from '../../../../http/requests/request-origin.ts'
import { normalizeEmail } from '../../../../lib/email-address.ts'
import { createToken, hashToken } from '../../../../lib/tokens.ts'
import { recordAudit } from '../../audit/index.ts'
import { adminErrors } from '../errors.ts'
import { type Administrator, insertAdministrator, insertPasswordCode } from './administrator.ts'

export const passwordCodePrefix = 'basalt_password_'
const invitationSeconds = 7 * 24 * 60 * 60

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
 * @throws AppError invalid_administrator_email, administrator_exists
 */
export async function addAdministrator(
  database: SystemDatabase,
  given: { readonly email: string; readonly role: AdministratorRole },
  by: By,
  onAdded?: (transaction: Queryable, administrator: Administrator) => Promise<void>,
): Promise<{ readonly administrator: Administrator; readonly invitation: Invitation }> {
  const { role } = given
  const email = requireAddress(given.email)
  return await database.transaction(async (transaction) => {
    const administrator = await insertAdministrator(transaction, { email, role })
    if (administrator === undefined) throw adminErrors.administratorExists(email)
    const { id } = administrator
    const invitation = await createInvitation(transaction, id)
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
 * Makes an administrator an enabled owner, ends their sessions and password, and creates a code for a new one.
 *
 * @param email undefined for the first administrator
 * @throws AppError administrator_not_found
 */
export async function recoverAdministrator(
  database: SystemDatabase,
  email: string | undefined,
  by: By,
): Promise<Invitation> {
  return await database.transaction(async (transaction) => {
    const found = await transaction.maybeOne<{ id: string }>(sql`
      update basalt.administrators
      set role = 'owner', disabled_at = null, password_hash = null, updated_at = now()
      where ${email === undefined ? sql`is_first` : sql`lower(email) = lower(${email.trim()})`}
      returning id`)
    if (found === undefined) throw adminErrors.administratorNotFound()
    await transaction.count(sql`delete from basalt.admin_sessions where administrator_id = ${found.id}`)
    await recordAudit(transaction, { ...by, action: 'administrators.recover', target: found.id })
    return await createInvitation(transaction, found.id)
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
