import { messageOf } from '../../lib/errors.ts'
import type { Connection, ConnectionTarget } from '../connection/connection.ts'
import { quoteIdentifier, sql } from '../sql.ts'
import type { Queryable } from '../system-database.ts'
import { type Login, LoginRefused } from './login.ts'

/** Thrown when statements may not run as the role; the message names the remedy. */
export class RoleRefused extends Error {}

/**
 * Opener of sessions that log in as a role of the operator. The session's own user is the role, so `reset role` and `set
 * session authorization` lead to no other one (PostgreSQL, SET ROLE).
 */
export class RoleSessions {
  readonly #database: Queryable
  readonly #createLogin: (role: string) => Login
  readonly #target: ConnectionTarget | undefined

  /** @param target leads to PostgreSQL itself; undefined where only a pooler is known */
  constructor(
    database: Queryable,
    createLogin: (role: string) => Login,
    target: ConnectionTarget | undefined,
  ) {
    this.#database = database
    this.#createLogin = createLogin
    this.#target = target
  }

  /** Returns why statements may not run as the role, and the remedy; undefined if they may. */
  async findFault(role: string): Promise<string | undefined> {
    if (this.#target === undefined) {
      return 'database.url leads to a pooler: set database.listen_url to a direct connection to PostgreSQL'
    }
    return await findRoleFault(this.#database, role)
  }

  /**
   * Opens a session. Sets the password of the role unless it is the one that all nodes derive.
   *
   * @throws RoleRefused; ConnectionLost when the database is unavailable
   */
  async open(role: string): Promise<Connection> {
    const fault = await this.findFault(role)
    if (fault !== undefined || this.#target === undefined) throw new RoleRefused(fault)
    const connection = await this.#logIn(role, this.#target)
    const { rows } = await connection.query<{ isOwn: boolean }>(
      sql`select session_user = ${role} and current_user = ${role} as "isOwn"`,
    )
    if (rows[0]?.isOwn === true) return connection
    await connection.close()
    throw new RoleRefused(`the database lets no session log in as "${role}"`)
  }

  async #logIn(role: string, target: ConnectionTarget): Promise<Connection> {
    const login = this.#createLogin(role)
    try {
      return await login.open(target)
    } catch (error) {
      if (!(error instanceof LoginRefused)) throw error
      throw new RoleRefused(
        `"${role}" cannot log in (${messageOf(error.cause)}): let pg_hba.conf accept it by password, and have an ` +
          `administrator run: alter role ${quoteIdentifier(role)} login password '${login.verifier}'`,
        { cause: error },
      )
    }
  }
}

/**
 * Finds a right of the role beyond its own. A role without a fault is a member of no other, and owns neither the database nor
 * anything in the schema `basalt`. It has no grant there either, but for `basalt.enqueue`.
 */
async function findRoleFault(database: Queryable, role: string): Promise<string | undefined> {
  if (/^(pg_|basalt)/.test(role)) return `"${role}" is a role of PostgreSQL or of Basalt itself`
  const found = await database.maybeOne<{ fault: string | null }>(sql`
    select case
      when rolsuper then 'is a superuser'
      when r.oid in (
        (select datdba from pg_database where datname = current_database()),
        (select nspowner from pg_namespace where nspname = 'basalt'),
        (select oid from pg_roles where rolname = session_user)) then 'owns the database'
      when rolcreaterole or rolcreatedb or rolreplication then
        format('may do more than log in: alter role %I nocreaterole nocreatedb noreplication', rolname)
      when not rolcanlogin then format('may not log in: alter role %I login', rolname)
      when exists (select from pg_auth_members m where m.member = r.oid) then (
        select format('is a member of others: revoke %s from %I', string_agg(quote_ident(g.rolname), ', ' order by g.rolname), r.rolname)
        from pg_auth_members m join pg_roles g on g.oid = m.roleid where m.member = r.oid)
      -- Owners and grantees of objects, also of single columns, are dependencies of the objects (PostgreSQL, pg_shdepend).
      when exists (
        select from pg_shdepend d
        where d.refclassid = 'pg_authid'::regclass and d.refobjid = r.oid
          and d.dbid = (select oid from pg_database where datname = current_database())
          and (
            d.classid = 'pg_namespace'::regclass and d.objid = 'basalt'::regnamespace
            or d.classid = 'pg_class'::regclass
              and (select c.relnamespace from pg_class c where c.oid = d.objid) = 'basalt'::regnamespace
            or d.classid = 'pg_proc'::regclass
              and (select p.pronamespace from pg_proc p where p.oid = d.objid and p.proname <> 'enqueue') = 'basalt'::regnamespace)
      ) then format('has rights in the schema basalt: revoke all on all tables in schema basalt from %I', rolname)
    end as fault
    from pg_roles r where rolname = ${role}`)
  if (found === undefined) return `there is no role "${role}": create role ${quoteIdentifier(role)} login`
  return found.fault === null ? undefined : `"${role}" ${found.fault}`
}
