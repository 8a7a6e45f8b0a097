import { OperatorError } from '../../lib/errors.ts'
import { anonymousRole, callerRole } from '../caller/caller-scope.ts'
import { gatewayFunctions } from '../caller/gateway-functions.ts'
import { type Sql, sql } from '../sql.ts'
import type { Queryable } from '../system-database.ts'
import { attempt } from './attempt.ts'
import { administratorRole, developerRole, gatewayRole, readerRole } from './roles.ts'

/**
 * Creates the roles that requests log in as, and grants their missing privileges, if the login role may.
 * Otherwise it does nothing. Their logins are tried afterwards.
 *
 * @throws OperatorError where a role has more privileges than it needs
 */
export async function ensureLogins(transaction: Queryable): Promise<void> {
  const isGateway = await ensureRole(transaction, gatewayRole, sql`login noinherit`)
  if (isGateway) {
    await grantMembership(transaction, gatewayRole)
    await requireBounded(transaction, gatewayRole, [callerRole, anonymousRole])
  }
  const isAdministrator = await ensureRole(transaction, administratorRole, sql`login noinherit bypassrls`)
  if (isAdministrator) await requireBounded(transaction, administratorRole, [callerRole, anonymousRole])
  for (const role of [gatewayRole, administratorRole]) {
    await grantSteps(transaction, role)
    await grantConnect(transaction, role)
  }
}

/** Creates the role of read-only runs. @returns true if it exists */
export async function ensureReader(transaction: Queryable): Promise<boolean> {
  const isReady = await ensureRole(transaction, readerRole, sql`login noinherit bypassrls`)
  if (!isReady) return false
  // It reads as callers do. The membership is not inherited, so that the reader does not get their privilege to
  // write.
  await grantMembership(transaction, readerRole)
  await grantConnect(transaction, readerRole)
  await requireBounded(transaction, readerRole, [callerRole, anonymousRole])
  return true
}

/** Creates the role of writing runs of developers. @returns true if it exists */
export async function ensureDeveloper(transaction: Queryable): Promise<boolean> {
  const isReady = await ensureRole(transaction, developerRole, sql`login noinherit bypassrls`)
  if (!isReady) return false
  await grantConnect(transaction, developerRole)
  await requireBounded(transaction, developerRole, [])
  return true
}

/** Creates a role where it is missing. @returns true if it exists */
async function ensureRole(transaction: Queryable, name: string, attributes: Sql): Promise<boolean> {
  const find = () => transaction.maybeOne(sql`select from pg_roles where rolname = ${name}`)
  if ((await find()) !== undefined) return true
  const failure = await attempt(transaction, sql`create role ${sql.id(name)} ${attributes}`)
  if (failure === undefined) return true
  // 42710, 23505: a node of another database was quicker.
  if (['42710', '23505'].includes(failure.code ?? '')) return true
  if (failure.code !== '42501') throw failure
  return false
}

/**
 * Lets the administrators' login become the roles of callers, for functions that use the rights of both. It is granted once there is
 * such a function.
 *
 * @returns false where the login role may not grant it
 */
export async function letAdministratorBecomeCallers(transaction: Queryable): Promise<boolean> {
  const isGranted = await grantMembership(transaction, administratorRole)
  // A node of another process may have granted them at the same time.
  return isGranted || (await findMembership(transaction, administratorRole)).lacking.length === 0
}

/** Lists the roles of callers that the role cannot become. */
async function findMembership(transaction: Queryable, name: string) {
  return await transaction.one<{ options: boolean; lacking: string[] }>(sql`
    select current_setting('server_version_num')::int >= 160000 as options, array(
      select r.rolname from pg_roles r
      where r.rolname in (${callerRole}, ${anonymousRole})
        and not pg_has_role(${name}, r.oid,
          case when current_setting('server_version_num')::int >= 160000 then 'set' else 'member' end)
      order by 1)::text[] as lacking`)
}

/** Lets the role become those of callers, as far as the login role may grant them. @returns true if it could grant all of them */
async function grantMembership(transaction: Queryable, name: string): Promise<boolean> {
  const { options, lacking } = await findMembership(transaction, name)
  let isGranted = true
  for (const role of lacking) {
    const grant = sql`grant ${sql.id(role)} to ${sql.id(name)}`
    // Before PostgreSQL 16, inheritance is an attribute of the member.
    const failure = await attempt(transaction, options ? sql`${grant} with inherit false, set true` : grant)
    isGranted &&= failure === undefined
  }
  return isGranted
}

/**
 * Rejects an unsafe role.
 *
 * @throws OperatorError if the role can do more than log in and become one of the roles
 */
async function requireBounded(transaction: Queryable, name: string, roles: readonly string[]): Promise<void> {
  const repair = await findExcess(transaction, name, roles)
  if (repair === undefined) return
  throw new OperatorError(
    `the role ${name} may do more than requests need: have an administrator run ${repair}`,
  )
}

/**
 * Returns the statements that remove the excess rights of a role; undefined if it has none. It may log in and become
 * one of the roles.
 */
export async function findExcess(
  transaction: Queryable,
  name: string,
  roles: readonly string[],
): Promise<string | undefined> {
  const bypasses = sql.literal(name === gatewayRole ? ' nobypassrls' : '')
  const { repair } = await transaction.one<{ repair: string | null }>(sql`
    select concat_ws(' ',
      (select format('alter role %I nosuperuser nocreaterole nocreatedb noreplication noinherit%s;', rolname, ${bypasses}::text)
       from pg_roles where rolname = ${name} and (
         rolsuper or rolcreaterole or rolcreatedb or rolreplication or rolinherit
         or rolbypassrls and ${bypasses}::text <> '')),
      (select format('revoke %s from %I;', string_agg(quote_ident(r.rolname), ', ' order by r.rolname), ${name}::text)
       from pg_auth_members m join pg_roles r on r.oid = m.roleid
       where m.member = (select oid from pg_roles where rolname = ${name}) and r.rolname <> all (${roles})
       having count(*) > 0)) as repair`)
  return repair || undefined
}

async function grantConnect(transaction: Queryable, role: string): Promise<void> {
  const lacking = await transaction.maybeOne<{ database: string }>(sql`
    select current_database() as database from pg_roles
    where rolname = ${role} and not has_database_privilege(oid, current_database(), 'connect')`)
  if (lacking === undefined) return
  await attempt(transaction, sql`grant connect on database ${sql.id(lacking.database)} to ${sql.id(role)}`)
}

/** Adds the missing grants only, because a grant changes the catalog. */
async function grantSteps(transaction: Queryable, role: string): Promise<void> {
  const lacking = await transaction.many<{ grant: string }>(sql`
    select format('grant execute on function %s to %I', step, rolname) as grant
    from unnest(${gatewayFunctions}::text[]) step cross join pg_roles
    where rolname = ${role} and not has_function_privilege(pg_roles.oid, step, 'execute')`)
  for (const { grant } of lacking) await transaction.execute({ text: grant, values: [] })
}

/**
 * Returns the statements that an administrator has to run if the login role may not.
 *
 * @param verifier of the password, which it does not disclose
 */
export function statementsFor(role: string, verifier: string): string {
  const bypasses = role === gatewayRole ? '' : ' bypassrls'
  const create = `create role ${role} login noinherit${bypasses} password '${verifier}';`
  return role === administratorRole || role === developerRole
    ? create
    : `${create} grant ${callerRole}, ${anonymousRole} to ${role};`
}
