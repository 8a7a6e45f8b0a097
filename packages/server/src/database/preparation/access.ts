import { OperatorError } from '../../lib/errors.ts'
import { anonymousRole, callerRole } from '../caller/caller-scope.ts'
import type { Connection } from '../connection/connection.ts'
import type { EngineProbe } from '../connection/probe.ts'
import { ensureProbeTable } from '../distributed/probe-table.ts'
import { letCallersReachWorkers } from '../distributed/worker-roles.ts'
import { attempt } from '../logins/attempt.ts'
import { ensureLogins } from '../logins/ensure-logins.ts'
import { grantToAdministrator } from '../logins/grants.ts'
import { administratorRole } from '../logins/roles.ts'
import { type Sql, sql } from '../sql.ts'
import type { Queryable } from '../system-database.ts'
import { inPreparation } from './preparation.ts'

/**
 * Creates the roles that requests work as, and exposes each new schema to the role of callers with a token.
 * That role gets usage of the schema, and read and write access to its tables and to those that the login role
 * creates later. The policies decide which rows each caller sees. A schema is exposed once, so that a later
 * revoke by the operator stays in force. The role of requests without a token gets no grant.
 *
 * @throws OperatorError with the statements that an administrator has to run when the login role may not
 */
export async function prepareAccess(
  connection: Connection,
  schemas: readonly string[],
  engine: Pick<EngineProbe, 'isDistributed'>,
): Promise<void> {
  await inPreparation(connection, (transaction) => prepareAccessIn(transaction, schemas, engine))
}

/** Prepares access within a transaction, as {@link prepareAccess} does. */
export async function prepareAccessIn(
  transaction: Queryable,
  schemas: readonly string[],
  { isDistributed }: Pick<EngineProbe, 'isDistributed'>,
): Promise<void> {
  await keepSystemSchemaOffPath(transaction)
  await ensureRoles(transaction)
  await grantSearch(transaction)
  await grantStorage(transaction)
  await ensureLogins(transaction)
  for (const schema of schemas) {
    const { exists } = await transaction.one<{ exists: boolean }>(
      sql`select exists (select from pg_namespace where nspname = ${schema})`,
    )
    if (!exists) throw new OperatorError(`the schema "${schema}" of database.schemas does not exist`)
    const isNew = await transaction.count(
      sql`insert into basalt.opened_schemas (schema_name) values (${schema}) on conflict do nothing`,
    )
    if (isNew > 0) await openSchema(transaction, schema)
  }
  const isAdministrator = await transaction.maybeOne(
    sql`select from pg_roles where rolname = ${administratorRole}`,
  )
  if (isAdministrator !== undefined) await grantToAdministrator(transaction)
  if (isDistributed) {
    await letCallersReachWorkers(transaction)
    await ensureProbeTable(transaction)
  }
}

/**
 * Removes the system schema from the search path of a login role named `basalt`. It would otherwise find that
 * schema first (`"$user"` in `search_path`), and its `create table` would create system tables. The change is
 * limited to its sessions in this database.
 */
async function keepSystemSchemaOffPath(transaction: Queryable): Promise<void> {
  const found = await transaction.maybeOne<{ path: string; database: string }>(sql`
    select replace(replace(current_setting('search_path'), '"$user", ', ''), '"$user"', 'public') as path,
      current_database() as database
    where current_user = 'basalt' and current_setting('search_path') like '%"$user"%'`)
  if (found === undefined) return
  const path = sql.join(found.path.split(', ').map((schema) => sql.id(schema.replace(/^"|"$/g, ''))))
  await transaction.count(
    sql`alter role current_user in database ${sql.id(found.database)} set search_path to ${path}`,
  )
}

/**
 * Creates the roles of requests. Without the role for requests without a token those are rejected, as they are
 * wherever it has no grant.
 *
 * @throws OperatorError when the login role cannot act as the one of callers
 */
async function ensureRoles(transaction: Queryable): Promise<void> {
  const isReady = await ensureRole(transaction, callerRole)
  await ensureRole(transaction, anonymousRole)
  if (isReady) return
  const { login, exists } = await transaction.one<{ login: string; exists: boolean }>(sql`
    select quote_ident(current_user) as login, to_regrole(${callerRole}) is not null as exists`)
  throw new OperatorError(
    `the login role cannot act as ${callerRole}; have an administrator run: ` +
      `${exists ? '' : `create role ${callerRole} nologin; `}grant ${callerRole} to ${login};`,
  )
}

/** Creates a missing role. Returns true if the login role can act as it. */
async function ensureRole(transaction: Queryable, name: string): Promise<boolean> {
  const role = sql.id(name)
  const found = await transaction.maybeOne<{ rolsuper: boolean; rolbypassrls: boolean }>(
    sql`select rolsuper, rolbypassrls from pg_roles where rolname = ${name}`,
  )
  if (found?.rolsuper === true || found?.rolbypassrls === true) {
    throw new OperatorError(
      `the role ${name} bypasses row-level security: alter role ${name} nosuperuser nobypassrls`,
    )
  }
  if (found === undefined) {
    const failure = await attempt(transaction, sql`create role ${role} nologin noinherit`)
    // 42710, 23505: a node of another database was quicker. 42501: the check below names the remedy.
    if (failure !== undefined && !['42710', '23505', '42501'].includes(failure.code ?? '')) throw failure
  }
  const become = sql`set local role ${role}`
  let failure = await attempt(transaction, become)
  if (failure !== undefined) {
    // The grant may fail because a node of another database makes the same one. Only the usability of the role
    // counts.
    await attempt(transaction, sql`grant ${role} to current_user`)
    failure = await attempt(transaction, become)
  }
  if (failure === undefined) await transaction.count(sql`reset role`)
  return failure === undefined
}

/**
 * Adds missing grants of the search functions, and no others, because a grant changes the catalog. Requests
 * without a token must not read an index past the policies.
 */
async function grantSearch(transaction: Queryable): Promise<void> {
  const withoutToken = await transaction.maybeOne<{ granted: boolean }>(sql`
    select has_function_privilege(oid, 'basalt.search_query(regconfig, text, jsonb)', 'execute')
      and has_function_privilege(oid, 'basalt.headline(regconfig, text, tsquery, text)', 'execute') as granted
    from pg_roles where rolname = ${anonymousRole}`)
  if (withoutToken?.granted === false) {
    await transaction.count(sql`
      grant execute on function basalt.search_query(regconfig, text, jsonb), basalt.without_accents(text),
        basalt.headline(regconfig, text, tsquery, text)
      to ${sql.id(anonymousRole)}`)
  }
  const missing = await transaction.many<{ name: string }>(sql`
    select oid::regprocedure::text as name from pg_proc
    where pronamespace = 'basalt'::regnamespace
      and proname in ('search_query', 'search_rows', 'similar_rows', 'nearby_rows', 'without_accents', 'headline')
      and not has_function_privilege(${callerRole}, oid, 'execute')`)
  if (missing.length === 0) return
  await transaction.count(sql`
    grant execute on function basalt.search_query(regconfig, text, jsonb), basalt.search_rows(regclass, tsquery),
      basalt.search_rows(regclass, tsquery, int, int),
      basalt.without_accents(text), basalt.headline(regconfig, text, tsquery, text),
      basalt.similar_rows(regclass, text, real), basalt.nearby_rows(regclass, name, text, text, double precision)
    to ${sql.id(callerRole)}`)
}

/** Gives callers access to their columns of storage objects, as far as policies allow it. */
async function grantStorage(transaction: Queryable): Promise<void> {
  const { granted } = await transaction.one<{ granted: boolean }>(
    sql`select has_column_privilege(${callerRole}, 'basalt.objects', 'name', 'select') as granted`,
  )
  if (granted) return
  const role = sql.id(callerRole)
  await transaction.count(sql`
    grant select (id, bucket, name, size, content_type, user_id, created_at, updated_at, etag),
      insert (bucket, name, size, content_type, user_id, app_id, key),
      update (bucket, name, size, content_type, updated_at, key),
      delete
    on basalt.objects to ${role}`)
}

/**
 * Locks the table for the grant. GRANT takes no lock, so statements that change the table would fail ("tuple
 * concurrently updated") instead of waiting. A running statement goes first.
 */
async function lockBriefly(transaction: Queryable, relation: Sql): Promise<void> {
  // The timeout is shorter than `deadlock_timeout`, after which PostgreSQL fails either of the two.
  const { before } = await transaction.one<{ before: string }>(
    sql`select current_setting('lock_timeout') as before`,
  )
  await transaction.count(sql`set local lock_timeout = '500ms'`)
  await attempt(transaction, sql`lock table only ${relation} in share update exclusive mode`)
  await transaction.count(sql`select set_config('lock_timeout', ${before}, true)`)
}

async function openSchema(transaction: Queryable, schema: string): Promise<void> {
  const role = sql.id(callerRole)
  const namespace = sql.id(schema)
  const { may_open } = await transaction.one<{ may_open: boolean }>(
    sql`select has_schema_privilege(current_user, ${schema}, 'usage with grant option') as may_open`,
  )
  if (may_open) await transaction.count(sql`grant usage on schema ${namespace} to ${role}`)
  // Only an owner may grant, so owners expose their own tables.
  const relations = await transaction.many<{
    name: string
    is_sequence: boolean
    is_table: boolean
    is_extension: boolean
  }>(sql`
    select relname as name, relkind = 'S' as is_sequence, relkind in ('r', 'p') as is_table, exists (
        select from pg_depend where classid = 'pg_class'::regclass and objid = pg_class.oid and deptype = 'e'
      ) as is_extension
    from pg_class
    where relnamespace = (select oid from pg_namespace where nspname = ${schema})
      and relkind in ('r', 'p', 'v', 'm', 'f', 'S')
      and pg_has_role(relowner, 'usage')`)
  for (const { name, is_sequence, is_table, is_extension } of relations) {
    const relation = sql.id(schema, name)
    if (is_table) await lockBriefly(transaction, relation)
    if (is_sequence) await transaction.count(sql`grant usage, select on sequence ${relation} to ${role}`)
    // Callers must not change the tables of an extension, such as spatial_ref_sys of PostGIS.
    else if (is_extension) await transaction.count(sql`grant select on table ${relation} to ${role}`)
    else await transaction.count(sql`grant select, insert, update, delete on table ${relation} to ${role}`)
  }
  await transaction.count(sql`
    alter default privileges in schema ${namespace}
    grant select, insert, update, delete on tables to ${role}`)
  await transaction.count(sql`
    alter default privileges in schema ${namespace}
    grant usage, select on sequences to ${role}`)
}
