import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { codeOf } from '../lib/errors.ts'
import { anonymousRole, callerRole } from './caller/caller-scope.ts'
import { Connection, type ConnectionTarget } from './connection/connection.ts'
import { scramVerifier } from './embedded/tcp-access.ts'
import { ConnectionLost } from './errors/failures.ts'
import { sql } from './sql.ts'
import type { Queryable, SystemDatabase } from './system-database.ts'

/**
 * The role of statements that an administrator runs read-only. It logs in by itself: what the session's own user may
 * not do stays forbidden, whatever `set role`, `reset role` or a function with dynamic SQL try (PostgreSQL, SET ROLE).
 * It sees all rows, and nothing of the schema `basalt`, where password hashes and secrets are.
 */
export const readerRole = 'basalt_reader'

/** Logins that fail because another server of the cluster has just set another password. */
const attempts = 6

/** There can be no session of the reader here. */
class ReaderRefused extends Error {}

/** Opens sessions of the reader. */
export class SqlReader {
  readonly #database: SystemDatabase
  readonly #target: ConnectionTarget
  #needsPassword = false

  constructor(database: SystemDatabase, target: ConnectionTarget) {
    this.#database = database
    this.#target = target
  }

  /**
   * A connection of the reader, or undefined where the login role can neither make it nor log in as it.
   *
   * @throws ConnectionLost when the database is unavailable
   */
  async open(): Promise<Connection | undefined> {
    if (!(await this.#database.transaction(prepareReader))) return undefined
    try {
      return await this.#logIn()
    } catch (error) {
      if (error instanceof ReaderRefused) return undefined
      throw error
    }
  }

  async #logIn(): Promise<Connection> {
    if (!this.#needsPassword) {
      const connection = await this.#connect('')
      if (connection !== undefined) return connection
      this.#needsPassword = true
    }
    for (let attempt = 1; attempt <= attempts; attempt += 1) {
      const password = randomBytes(24).toString('base64url')
      if (!(await this.#database.transaction((transaction) => setPassword(transaction, password))))
        throw new ReaderRefused('the login role may not set passwords')
      const connection = await this.#connect(password)
      if (connection !== undefined) return connection
    }
    throw new ConnectionLost('cannot log in as the reader')
  }

  /** Undefined when the server does not accept the password. @throws ReaderRefused, ConnectionLost */
  async #connect(password: string): Promise<Connection | undefined> {
    try {
      return await Connection.open({ ...this.#target, login: { user: readerRole, password } })
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error
      const { cause } = error
      const code = cause instanceof pg.DatabaseError ? cause.code : undefined
      // Invalid password; the driver itself refuses to send none.
      if (code === '28P01' || isOwnRefusal(cause)) return undefined
      // No entry for the role in pg_hba.conf.
      if (code === '28000') throw new ReaderRefused('the reader may not log in', { cause })
      throw error
    }
  }
}

function isOwnRefusal(cause: unknown): boolean {
  return cause instanceof Error && /password must be a (non-empty )?string/.test(cause.message)
}

/** Whether the role is fit to read with; makes it, and grants to it what was created since. */
async function prepareReader(transaction: Queryable): Promise<boolean> {
  const found = await transaction.maybeOne<{ is_fit: boolean }>(sql`
    select rolcanlogin and rolbypassrls and not (rolsuper or rolcreaterole or rolreplication) as is_fit
    from pg_roles where rolname = ${readerRole}`)
  if (found?.is_fit === false) return false
  if (found === undefined && !(await createReader(transaction))) return false
  await grantToReader(transaction)
  return true
}

async function createReader(transaction: Queryable): Promise<boolean> {
  await transaction.count(sql`savepoint reader`)
  try {
    await transaction.count(sql`create role ${sql.id(readerRole)} login bypassrls noinherit`)
    // To read as they do; not inherited, so that their right to write is not the reader's own.
    await transaction.count(
      sql`grant ${sql.id(callerRole)}, ${sql.id(anonymousRole)} to ${sql.id(readerRole)}`,
    )
    return true
  } catch (error) {
    await transaction.count(sql`rollback to savepoint reader`)
    // 42710, 23505: another server of the cluster was quicker.
    if (['42710', '23505'].includes(codeOf(error) ?? '')) return true
    // 42704: the server has no role for requests without a token, since it may not make one.
    if (['42501', '42704'].includes(codeOf(error) ?? '')) return false
    throw error
  }
}

/** What the reader lacks where the login role may grant it, as statements. */
const lacking = sql`
  with readable as (
    select oid, nspname, nspowner from pg_namespace
    where nspname not in ('basalt', 'information_schema') and nspname !~ '^pg_'
  )
  select format('grant usage on schema %I to ${sql.id(readerRole)}', nspname) as statement from readable
  where pg_has_role(nspowner, 'usage') and not has_schema_privilege(${sql.literal(readerRole)}, oid, 'usage')
  union all
  select format('grant select on %s %I.%I to ${sql.id(readerRole)}',
    case c.relkind when 'S' then 'sequence' else 'table' end, n.nspname, c.relname)
  from pg_class c join readable n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p', 'v', 'm', 'f', 'S') and pg_has_role(c.relowner, 'usage')
    and case c.relkind when 'S' then not has_sequence_privilege(${sql.literal(readerRole)}, c.oid, 'select')
      else not has_table_privilege(${sql.literal(readerRole)}, c.oid, 'select') end`

/** A table that a transaction is changing stays unreadable until the next run: reading waits for no one. */
const grantWait = '500ms'

/** Serialized: of two grants on one table the second fails ("tuple concurrently updated"). */
async function grantToReader(transaction: Queryable): Promise<void> {
  if ((await transaction.maybeOne(sql`select from (${lacking}) missing limit 1`)) === undefined) return
  await transaction.count(sql`select set_config('lock_timeout', ${grantWait}, true)`)
  await transaction.count(sql`
    do $grant$
    declare
      missing record;
    begin
      perform pg_advisory_xact_lock(hashtextextended('basalt reader', 0));
      for missing in ${lacking} loop
        begin
          execute missing.statement;
        exception when insufficient_privilege or lock_not_available or deadlock_detected or undefined_table
          or invalid_schema_name or internal_error then
          null;
        end;
      end loop;
    exception when lock_not_available then
      null;
    end $grant$`)
}

/** For the next login alone; each has another. */
async function setPassword(transaction: Queryable, password: string): Promise<boolean> {
  await transaction.count(sql`savepoint reader`)
  try {
    const verifier = sql.literal(scramVerifier(password))
    await transaction.count(sql`alter role ${sql.id(readerRole)} password ${verifier}`)
    return true
  } catch (error) {
    await transaction.count(sql`rollback to savepoint reader`)
    if (codeOf(error) === '42501') return false
    // Another server of the cluster sets its own at the same time; the login then fails and is tried again.
    if (codeOf(error) === 'XX000') return true
    throw error
  }
}
