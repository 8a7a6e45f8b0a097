import pg from 'pg'
import type { AppError } from '../../lib/errors.ts'
import type { Connection } from '../connection/connection.ts'
import { type Sql, sql } from '../sql.ts'
import { databaseErrorOf } from './error-translation.ts'
import { databaseErrors } from './errors.ts'

/** Privilege that the login role lacks, as PostgreSQL names it. */
export interface Denial {
  readonly lacks: 'ownership' | 'privilege' | 'policies'
  /** Kind of object in PostgreSQL's words: `table`, `materialized view`, `database`. */
  readonly kind: string
  /** Name without its schema, because PostgreSQL reports none. */
  readonly name: string
}

/** Kinds of objects in messages. Names are printed as they are, and may contain spaces, too. */
const kinds =
  'database|schema|table|view|materialized view|foreign table|sequence|index|relation|function|procedure|routine|' +
  'aggregate|type|domain'

const patterns = [
  ['ownership', new RegExp(`^must be owner of (${kinds}) (.+)$`, 's')],
  ['privilege', new RegExp(`^permission denied for (${kinds}) (.+)$`, 's')],
  ['policies', /^query would be affected by row-level security policy for (table) "(.+)"$/s],
] as const

/**
 * Parses a denial. Returns undefined for other failures, and where the database's messages are not in English.
 */
export function denialOf({ code, message }: pg.DatabaseError): Denial | undefined {
  if (code !== '42501') return undefined
  for (const [lacks, pattern] of patterns) {
    const [, kind, name] = pattern.exec(message) ?? []
    if (kind !== undefined && name !== undefined) return { lacks, kind, name }
  }
  return undefined
}

/**
 * Builds a query for the statement that gives the session's role the missing privilege, as `statement`.
 * `runner` is the role with the right to run it. It returns no row when the object is not found.
 */
export function remedyQuery({ lacks, kind, name }: Denial): Sql {
  if (kind === 'database') {
    return sql`
      select format('grant create on database %I to %I;', current_database(), current_user) as statement,
        pg_get_userbyid(datdba) as runner
      from pg_database
      where datname = current_database() and datname = ${name} and ${lacks} = 'privilege'`
  }
  if (kind === 'schema') {
    return sql`
      select case when ${lacks} = 'ownership' then format('grant %I to %I;', pg_get_userbyid(nspowner), current_user)
          else format('grant usage, create on schema %I to %I;', nspname, current_user) end as statement,
        pg_get_userbyid(nspowner) as runner
      from pg_namespace where nspname = ${name}`
  }
  return sql`
    with object as (
      select relowner as owner, relforcerowsecurity as is_forced, format('%I.%I', nspname, relname) as name,
        relkind, nspname
      from pg_class join pg_namespace n on n.oid = relnamespace
      where relname = ${name}
      union all
      select proowner, false, null, null, nspname
      from pg_proc join pg_namespace n on n.oid = pronamespace
      where proname = ${name} and ${kind} in ('function', 'procedure', 'routine', 'aggregate')
      union all
      select typowner, false, null, null, nspname
      from pg_type join pg_namespace n on n.oid = typnamespace
      where typname = ${name} and ${kind} in ('type', 'domain')
    )
    select case
        -- As a member of a superuser the login would become one, too.
        when ${lacks} = 'policies' and (is_forced or owner_role.rolsuper)
          then format('alter role %I bypassrls;', current_user)
        when ${lacks} = 'ownership' and owner_role.rolsuper and name is not null
          then format('alter %s %s owner to %I;', replace(${kind}, 'relation', 'table'), name, current_user)
        when ${lacks} <> 'privilege' then format('grant %I to %I;', owner_role.rolname, current_user)
        when relkind = 'S' then format('grant usage, select on sequence %s to %I;', name, current_user)
        when relkind = 'm' and current_setting('server_version_num')::int >= 170000
          then format('grant select, maintain on table %s to %I;', name, current_user)
        else format('grant select, insert, update, delete on table %s to %I;', name, current_user)
      end as statement,
      owner_role.rolname as runner
    from object
    join pg_roles owner_role on owner_role.oid = owner
    where nspname not like 'pg\\_%' and nspname not in ('information_schema', 'basalt')
      and (not pg_has_role(owner, 'usage') or is_forced) and (${lacks} <> 'privilege' or name is not null)
    order by nspname <> 'public', nspname
    limit 1`
}

export interface RemedyRow extends Record<string, unknown> {
  readonly statement: string
  readonly runner: string
}

export interface Remedy {
  readonly statement: string
  /** Text with the role that may run the statement. */
  readonly text: string
}

/** Function that runs the query with the privileges of the denied session. */
type RunQuery = (query: Sql) => Promise<readonly RemedyRow[]>

/**
 * Finds the statement that gives the login role the missing privilege, for an operator. Returns undefined for
 * other failures and where the statement is unknown. Never rejects.
 */
export async function findRemedy(failure: unknown, runQuery: RunQuery): Promise<Remedy | undefined> {
  const denial = failure instanceof pg.DatabaseError ? denialOf(failure) : undefined
  if (denial === undefined) return undefined
  const [row] = await runQuery(remedyQuery(denial)).catch(() => [])
  if (row === undefined) return undefined
  const { statement, runner } = row
  const whom = `${isOwners(row, denial) ? `"${runner}" or ` : ''}a superuser`
  return { statement, text: `have ${whom} run: ${statement}` }
}

/**
 * Returns true if the owner can run the statement. A role can grant its own objects, but neither itself nor an
 * attribute.
 */
function isOwners({ statement }: RemedyRow, { lacks }: Denial): boolean {
  return lacks === 'privilege' && statement.startsWith('grant ')
}

/** Converts a denied privilege of the login role to an error that an administrator can act on. */
export async function explainMissingRight(
  failure: unknown,
  runQuery: RunQuery,
): Promise<AppError | undefined> {
  const error = databaseErrorOf(failure)
  const remedy = await findRemedy(error, runQuery)
  if (error === undefined || remedy === undefined) return undefined
  return databaseErrors
    .insufficientPermissions(`${error.message}; ${remedy.text}`)
    .with({ data: { statement: remedy.statement }, cause: error })
}

/**
 * Finds the statement as {@link findRemedy} does, on a connection of the login role whose transaction has
 * ended.
 */
export async function findRemedyBy(connection: Connection, failure: unknown): Promise<string | undefined> {
  const remedy = await findRemedy(failure, async (query) => (await connection.query<RemedyRow>(query)).rows)
  return remedy?.text
}
