import { sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import type { AdministratorRole } from '../../../../http/access/permissions.ts'

/** Administrator who is bound to an account at the provider, or has the address of one. */
export interface KnownAdministrator {
  readonly id: string
  readonly email: string | null
  readonly role: AdministratorRole
  readonly is_disabled: boolean
  /** True if the provider has disabled the administrator, who had no role any more. */
  readonly has_lost_role: boolean
  /** Account at the provider; null for none. */
  readonly subject: string | null
}

const columns = sql`
  a.id, a.email, a.role, i.subject, a.disabled_at is not null as is_disabled,
  coalesce(a.disabled_at = i.lost_role_at, false) as has_lost_role`

/**
 * Lets sign-ins with the provider run one after the other, until the transaction ends. The lock does not stop writes of
 * others to the table. No SQL of developers can hold it, as it could an advisory lock.
 */
export async function lockProviderSignIns(transaction: Queryable): Promise<void> {
  await transaction.count(sql`lock table basalt.administrator_identities in share update exclusive mode`)
}

/** Finds and locks the administrator who is bound to the account. */
export async function findBound(
  transaction: Queryable,
  { issuer, subject }: { readonly issuer: string; readonly subject: string },
): Promise<KnownAdministrator | undefined> {
  return await transaction.maybeOne<KnownAdministrator>(sql`
    select ${columns} from basalt.administrators a
    join basalt.administrator_identities i on i.administrator_id = a.id
    where i.issuer = ${issuer} and i.subject = ${subject} for update of a`)
}

/** Finds and locks the administrator with the address. */
export async function findByAddress(
  transaction: Queryable,
  { issuer, email }: { readonly issuer: string; readonly email: string },
): Promise<KnownAdministrator | undefined> {
  return await transaction.maybeOne<KnownAdministrator>(sql`
    select ${columns} from basalt.administrators a
    left join basalt.administrator_identities i on i.administrator_id = a.id and i.issuer = ${issuer}
    where lower(a.email) = lower(${email}) for update of a`)
}

export async function insertIdentity(
  transaction: Queryable,
  { issuer, subject }: { readonly issuer: string; readonly subject: string },
  administratorId: string,
): Promise<void> {
  await transaction.count(sql`
    insert into basalt.administrator_identities (issuer, subject, administrator_id)
    values (${issuer}, ${subject}, ${administratorId})`)
}

/** Records a sign-in with a role. */
export async function recordIdentityUse(transaction: Queryable, administratorId: string, issuer: string) {
  await transaction.count(sql`
    update basalt.administrator_identities set last_sign_in_at = now(), lost_role_at = null
    where administrator_id = ${administratorId} and issuer = ${issuer}`)
}

/** Disables an administrator until the next sign-in with a role. */
export async function disableWithoutRole(transaction: Queryable, administratorId: string, issuer: string) {
  await transaction.count(sql`
    with lost as (
      update basalt.administrator_identities set lost_role_at = now()
      where administrator_id = ${administratorId} and issuer = ${issuer})
    update basalt.administrators set disabled_at = now(), updated_at = now() where id = ${administratorId}`)
}

/** Makes the state of an administrator one that an owner has decided. */
export async function clearLostRole(transaction: Queryable, administratorId: string): Promise<void> {
  await transaction.count(sql`
    update basalt.administrator_identities set lost_role_at = null where administrator_id = ${administratorId}`)
}

/** Removes the accounts of an administrator at providers. @returns their number */
export async function deleteIdentities(transaction: Queryable, administratorId: string): Promise<number> {
  return await transaction.count(
    sql`delete from basalt.administrator_identities where administrator_id = ${administratorId}`,
  )
}
