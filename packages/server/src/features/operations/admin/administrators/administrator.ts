import { sql } from '../../../../database/sql.ts'
import type { Queryable } from '../../../../database/system-database.ts'
import { type AdministratorRole, administratorRoles } from '../../../../http/access/permissions.ts'
import { type Answered, choice, component, nullable, timestamp } from '../../../../http/schemas.ts'
import { Type } from '../../../../lib/type.ts'
import type { SignInMethods } from '../context.ts'

/** Person who runs the server. */
export const Administrator = component(
  'Administrator',
  Type.Object({
    id: Type.String({ format: 'uuid' }),
    email: nullable(Type.String(), { description: 'null for the first administrator without an address.' }),
    role: choice(administratorRoles),
    isFirst: Type.Boolean({ description: 'True for the one whom the first start created.' }),
    isDisabled: Type.Boolean(),
    hasPassword: Type.Boolean({ description: 'False until the invitation is accepted.' }),
    hasSecondFactor: Type.Boolean(),
    hasIdentity: Type.Boolean({ description: 'True if bound to an account at the OpenID provider.' }),
    createdAt: timestamp,
    lastSignInAt: nullable(timestamp),
  }),
)
export type Administrator = Answered<typeof Administrator>

const columns = sql`
  id, email, role, is_first is not null as "isFirst", disabled_at is not null as "isDisabled",
  password_hash is not null as "hasPassword", basalt.has_second_factor(id) as "hasSecondFactor",
  exists (select from basalt.administrator_identities where administrator_id = id) as "hasIdentity", created_at as "createdAt", last_sign_in_at as "lastSignInAt"`

export async function listAdministrators(database: Queryable): Promise<Administrator[]> {
  return await database.many<Administrator>(
    sql`select ${columns} from basalt.administrators order by created_at, id`,
  )
}

/**
 * Condition that the administrator `a` has accepted an invitation or signed in with the provider. Only such owners get
 * notices.
 */
export const isEstablished = sql`(
  a.password_hash is not null
  or exists (select from basalt.administrator_identities i where i.administrator_id = a.id))`

/** Locks an administrator until the transaction ends. */
export async function lockAdministrator(
  transaction: Queryable,
  id: string,
): Promise<Administrator | undefined> {
  return await transaction.maybeOne<Administrator>(
    sql`select ${columns} from basalt.administrators where id = ${id} for update`,
  )
}

/** Inserts an administrator without a password. Returns undefined when another one has the address. */
export async function insertAdministrator(
  database: Queryable,
  { email, role }: { readonly email: string; readonly role: AdministratorRole },
): Promise<Administrator | undefined> {
  return await database.maybeOne<Administrator>(sql`
    insert into basalt.administrators (email, role) values (${email}, ${role})
    on conflict do nothing returning ${columns}`)
}

/** Members of an administrator that an owner changes. Undefined ones keep their value. */
export interface AdministratorChange {
  readonly email?: string | undefined
  readonly role?: AdministratorRole | undefined
  readonly isDisabled?: boolean | undefined
}

/** Changes an administrator. @returns undefined if there is none. @throws 23505 if another one has the address */
export async function updateAdministrator(
  database: Queryable,
  id: string,
  { email, role, isDisabled }: AdministratorChange,
): Promise<Administrator | undefined> {
  return await database.maybeOne<Administrator>(sql`
    update basalt.administrators set
      email = coalesce(${email ?? null}, email),
      role = coalesce(${role ?? null}, role),
      disabled_at = case ${isDisabled ?? null}::bool
        when true then coalesce(disabled_at, now()) when false then null else disabled_at end,
      updated_at = now()
    where id = ${id} returning ${columns}`)
}

export async function deleteAdministrator(
  database: Queryable,
  id: string,
): Promise<{ readonly email: string | null } | undefined> {
  return await database.maybeOne<{ email: string | null }>(
    sql`delete from basalt.administrators where id = ${id} returning email`,
  )
}

/**
 * Locks the owners who can sign in until the transaction ends, so that two changes at once do not remove the last two.
 *
 * @returns their ids
 */
export async function lockOwners(
  transaction: Queryable,
  { password, provider }: SignInMethods,
): Promise<string[]> {
  const owners = await transaction.many<{ id: string }>(sql`
    select id from basalt.administrators a
    where role = 'owner' and disabled_at is null and (
      ${password}::bool and password_hash is not null
      or exists (
        select from basalt.administrator_identities i
        where i.administrator_id = a.id and i.issuer = ${provider?.issuer ?? null}))
    order by id for update`)
  return owners.map(({ id }) => id)
}

/**
 * Sets the password, and ends the sessions and codes that the previous one began.
 *
 * @param keptSession session that stays, with the tokens of programs; without one, all end
 */
export async function setPassword(
  transaction: Queryable,
  id: string,
  hash: string,
  keptSession?: string,
): Promise<void> {
  await transaction.count(sql`
    update basalt.administrators set password_hash = ${hash}, updated_at = now() where id = ${id}`)
  await transaction.count(sql`
    delete from basalt.admin_sessions
    where administrator_id = ${id}
      and (${keptSession === undefined}::bool or id <> ${keptSession ?? null}::uuid and name is null)`)
  await transaction.count(sql`delete from basalt.admin_sign_in_codes where administrator_id = ${id}`)
}

/** Stores a code with which an administrator sets a password. Once one is used, the others end. */
export async function insertPasswordCode(
  transaction: Queryable,
  administratorId: string,
  codeHash: Buffer,
  lifetimeSeconds: number,
): Promise<{ readonly expiresAt: Date }> {
  return await transaction.one<{ expiresAt: Date }>(sql`
    insert into basalt.admin_sign_in_codes (code_hash, administrator_id, purpose, expires_at)
    values (${codeHash}, ${administratorId}, 'password', now() + make_interval(secs => ${lifetimeSeconds}::int))
    returning expires_at as "expiresAt"`)
}

export async function deletePasswordCodes(transaction: Queryable, administratorId: string): Promise<void> {
  await transaction.count(sql`
    delete from basalt.admin_sign_in_codes where administrator_id = ${administratorId} and purpose = 'password'`)
}

/** Returns true if a code may set a password. It decides nothing, but spares the work for any other. */
export async function hasPasswordCode(database: Queryable, codeHash: Buffer): Promise<boolean> {
  const found = await database.count(sql`
    select from basalt.admin_sign_in_codes
    where code_hash = ${codeHash} and expires_at > now() and purpose = 'password'`)
  return found > 0
}

/** Consumes a code that sets a password. One of several concurrent attempts succeeds. @returns the administrator */
export async function consumePasswordCode(
  transaction: Queryable,
  codeHash: Buffer,
): Promise<{ readonly id: string; readonly email: string | null } | undefined> {
  return await transaction.maybeOne<{ id: string; email: string | null }>(sql`
    with used as (
      delete from basalt.admin_sign_in_codes
      where code_hash = ${codeHash} and expires_at > now() and purpose = 'password'
      returning administrator_id)
    select a.id, a.email from basalt.administrators a join used on a.id = used.administrator_id
    where a.disabled_at is null
    for update of a`)
}
