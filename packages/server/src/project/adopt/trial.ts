import { randomUUID } from 'node:crypto'
import { describeContext } from '../../database/caller/caller-context.ts'
import type { CallerScope } from '../../database/caller/caller-scope.ts'
import type { Connection } from '../../database/connection/connection.ts'
import type { EngineProbe } from '../../database/connection/probe.ts'
import { databaseErrorOf } from '../../database/errors/error-translation.ts'
import { prepareAccessIn } from '../../database/preparation/access.ts'
import { migrateIn } from '../../database/preparation/migrate.ts'
import { inPreparation } from '../../database/preparation/preparation.ts'
import { type Sql, sql } from '../../database/sql.ts'
import type { Queryable } from '../../database/system-database.ts'
import { messageOf, OperatorError } from '../../lib/errors.ts'
import { setTimeouts } from '../migrations/attempts.ts'
import type { People } from './people.ts'
import type { Proposal, ProposedTable } from './proposal.ts'

/** Trial of a proposal by two people and a request without a token. */
export interface Trial {
  /** Callers, such as `ada@example.com`. */
  readonly callers: readonly string[]
  readonly tables: readonly TrialTable[]
}

export interface TrialTable {
  readonly collection: string
  /** Number of all rows, at most {@link mostRows}. */
  readonly all: number
  /** Result of each caller: a number of rows, or null where the caller has no grant. */
  readonly callers: readonly (number | null)[]
  /** Result of a request without a token. */
  readonly withoutToken: number | null
}

/** Maximum count. A trial locks the tables, so it reads no more. */
export const mostRows = 10_000

/** Maximum duration of a statement that prepares the database. */
const preparationMs = 60_000

export interface TrialOptions {
  readonly proposal: Proposal
  /** Statements of the adoption, in their order. */
  readonly statements: readonly string[]
  readonly schemas: readonly string[]
  readonly engine: EngineProbe
  readonly lockTimeoutMs: number
  /** Maximum duration of the part that locks tables. */
  readonly timeoutMs: number
}

/**
 * Runs the statements in a transaction that is rolled back, and counts the rows of callers. A database that no
 * server has used is prepared in the same transaction.
 *
 * @throws OperatorError when a statement or a count fails
 */
export async function tryProposal(connection: Connection, options: TrialOptions): Promise<Trial> {
  const { proposal, statements, schemas, engine, lockTimeoutMs, timeoutMs } = options
  let trial: Trial | undefined
  try {
    await inPreparation(connection, async (transaction) => {
      const preparation = {
        lock_timeout_ms: lockTimeoutMs,
        lock_attempts: 1,
        statement_timeout_ms: preparationMs,
      }
      await setTimeouts(transaction, preparation, 'transaction')
      await migrateIn(connection, transaction)
      await prepareAccessIn(transaction, schemas, engine)
      const callers = await findCallers(transaction, proposal)
      const endsAt = performance.now() + timeoutMs
      const limit = async () => {
        const left = Math.max(1, Math.round(endsAt - performance.now()))
        await setTimeouts(
          transaction,
          { lock_timeout_ms: lockTimeoutMs, lock_attempts: 1, statement_timeout_ms: left },
          'transaction',
        )
      }
      for (const statement of statements) {
        await limit()
        await connection.statement(statement)
      }
      trial = await countRows(transaction, proposal, callers, limit)
      throw new Undone()
    })
  } catch (error) {
    if (trial !== undefined && error instanceof Undone) return trial
    throw explain(error, timeoutMs)
  }
  throw new Error('a trial was not undone')
}

/** Thrown to end a trial, so that its transaction is rolled back. */
class Undone extends Error {}

function explain(error: unknown, timeoutMs: number): unknown {
  const refusal = databaseErrorOf(error)
  if (refusal === undefined) return error
  const reason =
    refusal.code === '57014'
      ? `took longer than ${timeoutMs / 1000} s, for which it locks the tables; give it more by --trial-timeout, or skip it by --trial-timeout 0`
      : refusal.code === '55P03'
        ? 'waited for a lock of another session; try again'
        : messageOf(refusal)
  return new OperatorError(`the trial failed, and nothing is changed: ${reason}`, { cause: error })
}

interface TrialCaller {
  readonly name: string
  readonly scope: CallerScope
}

/** Finds two people with rows of their own, and makes callers of them. */
async function findCallers(transaction: Queryable, { people, tables }: Proposal): Promise<TrialCaller[]> {
  const { match, table } = people
  if (match === undefined) return []
  const column = sql`p.${sql.id(match.column.name)}`
  const value = match.by === 'email' ? sql`lower(${column}::text)` : sql`${column}::text`
  const key = sql.join(people.key.map(({ name }) => sql`p.${sql.id(name)}`))
  const rows = await transaction.many<{ value: string }>(sql`
    select value
    from (
      select ${value} as value, ${hasRows(people, tables)} as has_rows, row_number() over (order by ${key}) as position
      from (select * from ${sql.id(table.schema, table.name)} where ${sql.id(match.column.name)} is not null limit 1000) p
    ) sample
    where value <> ''
    group by value
    having count(*) = 1
    order by bool_or(has_rows) desc, min(position)
    limit 2`)
  return rows.map(({ value: found }) => ({
    name: found,
    scope: {
      kind: 'caller',
      userId: match.by === 'email' ? randomUUID() : found,
      email: match.by === 'email' ? found : '',
      isEmailVerified: match.by === 'email',
      aal: 'aal1',
      isAnonymous: false,
      sessionId: randomUUID(),
    },
  }))
}

/** Returns the condition that a row refers to the person `p`. */
function hasRows({ table: people }: People, tables: readonly ProposedTable[]): Sql {
  const references = tables.flatMap(({ table, access, ownership }) =>
    access !== 'own' || ownership === undefined
      ? []
      : ownership.keys
          .filter(({ parent }) => parent.table === people)
          .map(({ columns, parentColumns }) => {
            const pairs = columns.map(
              (name, index) => sql`c.${sql.id(name)} = p.${sql.id(parentColumns[index] ?? name)}`,
            )
            return sql`exists (select from ${sql.id(table.schema, table.name)} c where ${sql.join(pairs, sql` and `)})`
          }),
  )
  // A few tables are enough to prefer people with rows.
  return references.length === 0 ? sql`true` : sql.join(references.slice(0, 3), sql` or `)
}

async function countRows(
  transaction: Queryable,
  { tables }: Proposal,
  callers: readonly TrialCaller[],
  limit: () => Promise<void>,
): Promise<Trial> {
  const counted = tables.filter(({ access }) => access !== 'left')
  const columns: (number | null)[][] = []
  const scopes: (CallerScope | undefined)[] = [
    undefined,
    ...callers.map(({ scope }) => scope),
    { kind: 'anonymous' },
  ]
  for (const scope of scopes) {
    const counts: (number | null)[] = []
    for (const each of counted) {
      await limit()
      counts.push(await countAs(transaction, each, scope))
    }
    columns.push(counts)
  }
  return {
    callers: callers.map(({ name }) => name),
    tables: counted.map(({ table }, index) => {
      const [all = 0, ...others] = columns.map((counts) => counts[index] ?? null)
      return {
        collection: table.collection,
        all: all ?? 0,
        callers: others.slice(0, -1),
        withoutToken: others.at(-1) ?? null,
      }
    }),
  }
}

/** Counts rows as the caller, or as the owner. Null without a grant. */
async function countAs(transaction: Queryable, { table }: ProposedTable, scope: CallerScope | undefined) {
  if (scope !== undefined) {
    const { role, settings } = describeContext(scope)
    const { granted } = await transaction.one<{ granted: boolean }>(sql`
      select has_schema_privilege(${role}::name, n.oid, 'usage') and has_any_column_privilege(${role}::name, c.oid, 'select')
        as granted
      from pg_class c
      join pg_namespace n on n.oid = c.relnamespace
      where c.oid = ${table.oid}::int8::oid`)
    if (!granted) return null
    await transaction.count(sql`savepoint caller`)
    for (const [name, value] of Object.entries({ ...settings, role: role ?? 'none' })) {
      await transaction.count(sql`select set_config(${name}, ${value}, true)`)
    }
  }
  try {
    const { rows } = await transaction.one<{ rows: number }>(sql`
      select count(*)::int as rows
      from (select from ${sql.id(table.schema, table.name)} limit ${mostRows}::int) counted`)
    return rows
  } catch (error) {
    const refusal = databaseErrorOf(error)
    if (refusal === undefined || refusal.code === '57014') throw error
    throw new OperatorError(
      `the trial failed, and nothing is changed: ${table.collection} cannot be read${
        scope === undefined ? '' : ` as ${describeContext(scope).role}`
      }: ${refusal.message}`,
      { cause: error },
    )
  } finally {
    if (scope !== undefined) await transaction.count(sql`rollback to savepoint caller`).catch(() => undefined)
  }
}
