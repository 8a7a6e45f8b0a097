import { anonymousRole, callerRole } from '../../../database/caller/caller-scope.ts'
import { findGrantsToBasalt } from '../../../database/caller/missing-grants.ts'
import { findExcess } from '../../../database/logins/ensure-logins.ts'
import { administratorRole, developerRole, gatewayRole, readerRole } from '../../../database/logins/roles.ts'
import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { type Check, type CheckContext, type Finding, failure, ok, warning } from '../check.ts'

/** Check of the roles: they exist, and may do what they need and no more. */
export const roles: Check = {
  id: 'roles',
  run: async ({ config, database }) =>
    await database.readPrepared(async (transaction) => {
      const found = await readRoles(transaction)
      return [
        describeLogin(config, found),
        describeCallers(found),
        await describeGateway(transaction, found),
        ...(await describeBypassing(transaction, found)),
        await describeOwner(transaction, found),
        ...(await describeGrants(transaction, config)),
      ]
    }),
}

interface Role {
  readonly name: string
  readonly isSuperuser: boolean
  readonly bypassesPolicies: boolean
  readonly mayLogIn: boolean
  /** True if the login role may act as it. */
  readonly isUsable: boolean
  /** True if the gateway may become it. */
  readonly isOfGateway: boolean
}

interface Roles {
  /** Login of `database.url`. */
  readonly login: string
  readonly byName: ReadonlyMap<string, Role>
}

async function readRoles(transaction: Queryable): Promise<Roles> {
  const names = [callerRole, anonymousRole, gatewayRole, administratorRole, readerRole, developerRole]
  const { login } = await transaction.one<{ login: string }>(sql`select session_user::text as login`)
  const rows = await transaction.many<Role & Record<string, unknown>>(sql`
    select rolname as name, rolsuper as "isSuperuser", rolbypassrls as "bypassesPolicies", rolcanlogin as "mayLogIn",
      pg_has_role(session_user, oid, 'member') as "isUsable",
      coalesce((select pg_has_role(gateway.oid, pg_roles.oid, 'member')
        from pg_roles gateway where gateway.rolname = ${gatewayRole}), false) as "isOfGateway"
    from pg_roles where rolname = any (${names}) or rolname = session_user`)
  return { login, byName: new Map(rows.map((role) => [role.name, role])) }
}

function describeLogin({ database }: CheckContext['config'], { login, byName }: Roles): Finding {
  const id = 'roles.login'
  if (database.url !== '' && byName.get(login)?.isSuperuser === true) {
    return warning(
      id,
      `${login}, the login of database.url, is a superuser: a fault in Basalt would affect the whole cluster`,
      `alter role ${quote(login)} nosuperuser createrole;`,
    )
  }
  return ok(id, `${login} is the login of database.url`)
}

function describeCallers({ login, byName }: Roles): Finding {
  const id = 'roles.callers'
  const names = [callerRole, anonymousRole]
  const missing = names.filter((name) => !byName.has(name))
  if (missing.length > 0) {
    return failure(
      id,
      `the role ${missing.join(' and ')} does not exist`,
      missing
        .map((name) => `create role ${name} nologin noinherit; grant ${name} to ${quote(login)};`)
        .join(' '),
    )
  }
  const unsafe = names.filter((name) => isAbovePolicies(byName.get(name)))
  if (unsafe.length > 0) {
    return failure(
      id,
      `policies do not apply to ${unsafe.join(' and ')}: every caller sees every row`,
      unsafe.map((name) => `alter role ${name} nosuperuser nobypassrls;`).join(' '),
    )
  }
  const unusable = names.filter((name) => byName.get(name)?.isUsable !== true)
  if (unusable.length > 0) {
    return failure(
      id,
      `${login} cannot act as ${unusable.join(' and ')}`,
      `grant ${unusable.join(', ')} to ${quote(login)};`,
    )
  }
  return ok(id, `${names.join(' and ')} exist, and policies apply to them`)
}

function isAbovePolicies(role: Role | undefined): boolean {
  return role?.isSuperuser === true || role?.bypassesPolicies === true
}

async function describeGateway(transaction: Queryable, { login, byName }: Roles): Promise<Finding> {
  const id = 'roles.gateway'
  const gateway = byName.get(gatewayRole)
  if (gateway === undefined || !gateway.mayLogIn) {
    return warning(
      id,
      `${gatewayRole} ${gateway === undefined ? 'does not exist' : 'cannot log in'}: requests of callers log in as ${login}, with all its rights`,
      gateway === undefined
        ? `alter role ${quote(login)} createrole;  -- then basalt reload, which creates the role`
        : `alter role ${gatewayRole} login;`,
    )
  }
  const excess = await findExcess(transaction, gatewayRole, [callerRole, anonymousRole])
  if (excess !== undefined) return failure(id, `${gatewayRole} may do more than requests need`, excess)
  const lacking = [callerRole, anonymousRole].filter((name) => byName.get(name)?.isOfGateway === false)
  if (lacking.length > 0) {
    return failure(
      id,
      `${gatewayRole} cannot become ${lacking.join(' and ')}, so requests fail`,
      `grant ${lacking.join(', ')} to ${gatewayRole};`,
    )
  }
  return ok(id, `${gatewayRole} may become the roles of callers, and nothing more`)
}

/** Describes the roles that see every row: they must do so, and must have no other rights. */
async function describeBypassing(transaction: Queryable, { login, byName }: Roles): Promise<Finding[]> {
  const administrator = byName.get(administratorRole)
  const findings: Finding[] = []
  if (administrator === undefined) {
    findings.push(
      warning(
        'roles.administrator',
        `${administratorRole} does not exist: the data API of administrators logs in as ${login}`,
        `create role ${administratorRole} login noinherit bypassrls;  -- as a superuser, then basalt reload`,
      ),
    )
  } else {
    const excess = await findExcess(transaction, administratorRole, [callerRole, anonymousRole])
    findings.push(
      excess !== undefined
        ? failure('roles.administrator', `${administratorRole} may do more than requests need`, excess)
        : administrator.bypassesPolicies
          ? ok('roles.administrator', `${administratorRole} sees every row, and may do nothing more`)
          : failure(
              'roles.administrator',
              `policies apply to ${administratorRole}, so requests of administrators fail`,
              `alter role ${administratorRole} bypassrls;`,
            ),
    )
  }
  // It is created by the first read-only run.
  if (byName.has(readerRole)) {
    const excess = await findExcess(transaction, readerRole, [callerRole, anonymousRole])
    findings.push(
      excess === undefined
        ? ok('roles.reader', `${readerRole} may read, and nothing more`)
        : failure('roles.reader', `${readerRole} may do more than read-only SQL needs`, excess),
    )
  }
  if (byName.has(developerRole)) {
    const excess = await findExcess(transaction, developerRole, [])
    findings.push(
      excess === undefined
        ? ok('roles.developer', `${developerRole} may write rows, and nothing more`)
        : failure('roles.developer', `${developerRole} may do more than SQL of developers needs`, excess),
    )
  }
  return findings
}

async function describeOwner(transaction: Queryable, { login }: Roles): Promise<Finding> {
  const id = 'roles.owner'
  const { owner, is_usable } = await transaction.one<{ owner: string; is_usable: boolean }>(sql`
    select pg_get_userbyid(nspowner) as owner, pg_has_role(session_user, nspowner, 'usage') as is_usable
    from pg_namespace where nspname = 'basalt'`)
  if (is_usable) return ok(id, `the schema basalt belongs to ${owner}`)
  return failure(
    id,
    `the schema basalt belongs to ${owner}, and ${login} is no member of it: migrations and requests fail`,
    `grant ${quote(owner)} to ${quote(login)};`,
  )
}

async function describeGrants(
  transaction: Queryable,
  { database }: CheckContext['config'],
): Promise<Finding[]> {
  const grants = await findGrantsToBasalt(transaction, database.schemas)
  return grants.map(({ owner, tables, statement }) =>
    warning(
      'roles.grants',
      tables.length === 0
        ? `a schema of ${owner} is closed to Basalt`
        : `${tables.length} relations of ${owner} are closed to Basalt, and so to administrators: ${tables.slice(0, 8).join(', ')}${tables.length > 8 ? ', …' : ''}`,
      statement,
    ),
  )
}

function quote(name: string): string {
  return /^[a-z_][a-z0-9_]*$/.test(name) ? name : `"${name.replaceAll('"', '""')}"`
}
