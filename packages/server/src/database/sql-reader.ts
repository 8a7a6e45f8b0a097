import { randomBytes } from 'node:crypto'
import pg from 'pg'
import { codeOf } from '../lib/errors.ts'
import { Connection, type ConnectionTarget } from './connection.ts'
import { scramVerifier } from './embedded/tcp-access.ts'
import { ConnectionLost } from './failures.ts'
import { sql } from './sql.ts'
import type { Queryable, SystemDatabase } from './system-database.ts'
import { anonymousRole, callerRole } from './user-database.ts'

/**
 * The role of statements that an administrator runs read-only. It logs in by itself: what the session's own user may
 * not do stays forbidden, whatever `set role`, `reset role` or a function with dynamic SQL try (PostgreSQL, SET ROLE).
 * It sees all rows, and nothing of the schema `basalt`, where password hashes and secrets are.
 */
export const readerRole = 'basalt_reader'

/** Logins that fail because another server of the cluster has just set another password. */
const attempts = 4

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
    if (!this.#needsPassword) {
      const connection = await this.#connect('')
      if (connection !== undefined) return connection
      this.#needsPassword = true
    }
    for (let attempt = 1; attempt <= attempts; attempt += 1) {
      const password = randomBytes(24).toString('base64url')
      if (!(await this.#database.transaction((transaction) => setPassword(transaction, password)))) break
      const connection = await this.#connect(password)
      if (connection !== undefined) return connection
    }
    return undefined
  }

  /** Undefined when the server does not accept the password, or the reader at all. */
  async #connect(password: string): Promise<Connection | undefined> {
    try {
      return await Connection.open({ ...this.#target, login: { user: readerRole, password } })
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error
      const { cause } = error
      // Class 28: invalid authorization. The driver itself refuses to send an empty password.
      if (cause instanceof pg.DatabaseError ? cause.code?.startsWith('28') : isOwnRefusal(cause))
        return undefined
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
    if (codeOf(error) === '42501') return false
    throw error
  }
}

/** Where the login role may grant. Serialized: two grants on one table fail (PostgreSQL, "tuple concurrently updated"). */
async function grantToReader(transaction: Queryable): Promise<void> {
  const missing = await transaction.many<Lacking>(lacking)
  if (missing.length === 0) return
  await transaction.count(sql`select pg_advisory_xact_lock(hashtextextended('basalt reader', 0))`)
  const reader = sql.id(readerRole)
  for (const { kind, schema, name } of await transaction.many<Lacking>(lacking)) {
    if (kind === 'schema') await transaction.count(sql`grant usage on schema ${sql.id(schema)} to ${reader}`)
    else if (kind === 'sequence')
      await transaction.count(sql`grant select on sequence ${sql.id(schema, name)} to ${reader}`)
    else await transaction.count(sql`grant select on table ${sql.id(schema, name)} to ${reader}`)
  }
}

interface Lacking {
  readonly kind: 'schema' | 'table' | 'sequence'
  readonly schema: string
  readonly name: string
}

const lacking = sql`
  with readable as (
    select oid, nspname, nspowner from pg_namespace
    where nspname not in ('basalt', 'information_schema') and nspname !~ '^pg_'
  )
  select 'schema' as kind, nspname as schema, '' as name from readable
  where pg_has_role(nspowner, 'usage') and not has_schema_privilege(${readerRole}, oid, 'usage')
  union all
  select case c.relkind when 'S' then 'sequence' else 'table' end, n.nspname, c.relname
  from pg_class c join readable n on n.oid = c.relnamespace
  where c.relkind in ('r', 'p', 'v', 'm', 'f', 'S') and pg_has_role(c.relowner, 'usage')
    and case c.relkind when 'S' then not has_sequence_privilege(${readerRole}, c.oid, 'select')
      else not has_table_privilege(${readerRole}, c.oid, 'select') end`

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
