import { createHash } from 'node:crypto'
import { type CatalogScope, readCatalog } from '../../database/catalog/load.ts'
import { compareRelationNames, type RelationChange } from '../../database/catalog/relation-changes.ts'
import type { Connection } from '../../database/connection/connection.ts'
import { databaseErrorOf } from '../../database/errors/error-translation.ts'
import { ScriptFailure } from '../../database/errors/script-failure.ts'
import { sql } from '../../database/sql.ts'
import { inTransaction, type Queryable } from '../../database/system-database.ts'
import { cutText } from '../../lib/cut-text.ts'
import { setTimeouts } from '../migrations/attempts.ts'
import type { MigrationFile } from '../migrations/files.ts'
import {
  describeLock,
  findRewritten,
  type HeldLock,
  listFiles,
  type Rewritten,
  runAndWatchLocks,
} from '../migrations/observe.ts'
import { type AccessChange, compareAccess, readAccess } from '../schema/access.ts'
import { compareSchemas, readSchema, type SchemaChange, type SchemaObject } from '../schema/objects.ts'
import { structureErrors } from './errors.ts'
import { findTrace } from './traces.ts'
import { type Weight, weigh } from './weight.ts'

/** Effects of a script, observed in a transaction that was rolled back. */
export interface Observed {
  readonly locks: readonly HeldLock[]
  readonly rewritten: readonly Rewritten[]
  readonly changes: readonly SchemaChange[]
  readonly access: readonly AccessChange[]
}

export interface LargeRelation {
  readonly relation: string
  readonly bytes: number
  readonly weight: Exclude<Weight, 'light'>
}

export interface StructureRehearsal {
  /** Version of the current structure, by which concurrent changes are detected. */
  readonly version: string
  /** Undefined when the script was not run. */
  readonly observed: Observed | undefined
  /** Reason why it was not run, or not completely. */
  readonly reason?: 'no transaction' | 'traces' | 'large' | 'in use' | 'slow'
  /** Effect of it that may outlive the rolled back transaction. */
  readonly trace?: string
  /** Names of `expand` and filters with a new meaning. */
  readonly renamed?: readonly RelationChange[]
  /** Relations whose rows it reads or writes, but which are too large for a rehearsal. */
  readonly large: readonly LargeRelation[]
}

/**
 * Limits of a rehearsal, which holds the locks of the change in the served database. It waits for no lock
 * longer than a request would notice, and begins no statement after they have taken a second together.
 */
const limits = { lock_timeout_ms: 100, lock_attempts: 1, statement_timeout_ms: 1000 }

/**
 * Time limit for reading the result. On a loaded machine with many tables that takes longer than the script.
 */
const readTimeoutMs = 10_000

/** Size of a relation that takes a disk longer to read or write than a request should wait. */
const largeBytes = 16 * 1024 * 1024

/**
 * Runs the script in a transaction that is rolled back, unless that would hold its locks for long.
 *
 * @throws ScriptFailure
 */
export async function rehearseHere(
  connection: Connection,
  { statements, isTransaction }: MigrationFile,
  scope: CatalogScope,
): Promise<StructureRehearsal> {
  let version = ''
  try {
    await inTransaction(connection, async (transaction) => {
      const objects = await readSchema(transaction)
      version = versionOf(objects)
      const large = await findLarge(transaction, { statements })
      if (!isTransaction) throw new Undone({ version, observed: undefined, reason: 'no transaction', large })
      const trace = await findTrace(transaction, statements)
      if (trace !== undefined)
        throw new Undone({ version, observed: undefined, reason: 'traces', trace, large })
      if (large.length > 0) throw new Undone({ version, observed: undefined, reason: 'large', large })
      const access = await readAccess(transaction)
      const catalog = await readCatalog(transaction, scope, new Date(0))
      const files = await listFiles(transaction)
      const beganAt = performance.now()
      const before = async () => {
        if (performance.now() - beganAt > limits.statement_timeout_ms) {
          throw new Undone({ version, observed: undefined, reason: 'slow', large })
        }
        // The timeouts are set again for each statement, because the script may have changed them.
        await setTimeouts(transaction, limits, 'transaction')
      }
      const taken = await runAndWatchLocks(connection, statements, files, { before })
      const endedAt = performance.now()
      const after = await readResult(transaction, scope)
      const observed = {
        locks: taken.map((lock) => describeLock(lock, endedAt)),
        rewritten: findRewritten(files, after.files),
        changes: compareSchemas(objects, after.objects),
        access: compareAccess(access, after.access),
      }
      const renamed = compareRelationNames(catalog, after.catalog)
      throw new Undone({ version, observed, renamed, large })
    })
  } catch (error) {
    if (error instanceof Undone) return error.rehearsal
    const reason = error instanceof ScriptFailure ? interruptions.get(error.code ?? '') : undefined
    if (reason === undefined) throw error
    return { version, observed: undefined, reason, large: [] }
  }
  throw new Error('a rehearsal was not undone')
}

/**
 * Reads the result of the script.
 *
 * @throws AppError if it has removed objects that the server itself needs
 */
async function readResult(transaction: Queryable, scope: CatalogScope) {
  try {
    await transaction.count(sql`reset role`)
    await setTimeouts(transaction, { ...limits, statement_timeout_ms: readTimeoutMs }, 'transaction')
    return {
      files: await listFiles(transaction),
      objects: await readSchema(transaction),
      access: await readAccess(transaction),
      catalog: await readCatalog(transaction, scope, new Date(0)),
    }
  } catch (error) {
    // 57014: the time limit was reached.
    const refusal = databaseErrorOf(error)
    if (refusal === undefined || refusal.code === '57014') throw error
    throw structureErrors
      .migrationRefused(`sql: the database does not work after it: ${cutText(refusal.message)}`)
      .with({ cause: error })
  }
}

/** SQLSTATEs lock_not_available, deadlock_detected, query_canceled. */
const interruptions: ReadonlyMap<string, 'in use' | 'slow'> = new Map([
  ['55P03', 'in use'],
  ['40P01', 'in use'],
  ['57014', 'slow'],
])

/** Thrown to end a rehearsal, so that its transaction is rolled back. */
class Undone extends Error {
  readonly rehearsal: StructureRehearsal

  constructor(rehearsal: StructureRehearsal) {
    super('undone')
    this.rehearsal = rehearsal
  }
}

/** Returns a version that changes with the schema, and with nothing else. */
export function versionOf(objects: readonly SchemaObject[]): string {
  return createHash('sha256').update(JSON.stringify(objects)).digest('hex').slice(0, 16)
}

/** Finds large relations in a statement that reads or writes their rows. */
async function findLarge(
  transaction: Queryable,
  { statements }: Pick<MigrationFile, 'statements'>,
): Promise<LargeRelation[]> {
  const heavy = statements.map((statement) => ({
    text: statement.text.toLowerCase(),
    weight: weigh(statement),
  }))
  if (heavy.every(({ weight }) => weight === 'light')) return []
  const relations = await transaction.many<{ relation: string; name: string; bytes: number }>(sql`
    select format('%I.%I', n.nspname, c.relname) as relation, lower(c.relname) as name, s.bytes::float8 as bytes
    from pg_class c
    join pg_namespace n on n.oid = c.relnamespace
    cross join lateral (
      select sum(pg_total_relation_size(coalesce(t.relid, c.oid))) as bytes
      from (select c.oid) o left join lateral pg_partition_tree(c.oid) t on c.relkind = 'p') s
    where c.relkind in ('r', 'p', 'm') and n.nspname not like 'pg\\_%'
      and n.nspname not in ('information_schema', 'basalt') and s.bytes > ${largeBytes}`)
  return relations.flatMap(({ relation, name, bytes }): LargeRelation[] => {
    const found = heavy.filter(({ text, weight }) => weight !== 'light' && text.includes(name))
    const weight = found.some((each) => each.weight === 'writes') ? 'writes' : 'reads'
    return found.length === 0 ? [] : [{ relation, bytes, weight }]
  })
}
