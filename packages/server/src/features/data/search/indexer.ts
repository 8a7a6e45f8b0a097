import { buildIndexes } from '../../../database/build-indexes.ts'
import type { Relation } from '../../../database/catalog/model.ts'
import type { Connection } from '../../../database/connection/connection.ts'
import { explainMissingRight, type RemedyRow } from '../../../database/errors/denials.ts'
import { translateDatabaseFailure } from '../../../database/errors/error-translation.ts'
import { GaveWay } from '../../../database/giving-way.ts'
import type { Database } from '../../../database/open.ts'
import { sql } from '../../../database/sql.ts'
import { inTransaction, type Queryable, queryableOn } from '../../../database/system-database.ts'
import { AppError, codeOf, messageOf } from '../../../lib/errors.ts'
import { WorkInFlight } from '../../../lib/work-in-flight.ts'
import { partIndexName } from '../collections/index.ts'
import { searchErrors } from './errors.ts'
import * as queries from './index-queries.ts'
import type { RequiredIndex } from './required-indexes.ts'

/**
 * Maximum time that a statement with an exclusive table lock waits for other sessions, since later statements queue
 * after it.
 */
const lockTimeoutMs = 200

type Table = Pick<Relation, 'schema' | 'name' | 'kind'>

export interface IndexChanges {
  readonly built: readonly string[]
  readonly dropped: readonly string[]
  readonly durationMs: number
}

/** Indexer that builds and drops search indexes without blocking readers and writers of their tables. */
export interface Indexer {
  /**
   * Gives a table exactly these indexes. An index that a crash has left incomplete is built again.
   *
   * @throws AppError search_index_build_in_progress while another node or command does the same;
   * search_index_gave_way
   * when another session changes the table; search_index_failed
   */
  apply(table: Table, required: readonly RequiredIndex[], signal?: AbortSignal): Promise<IndexChanges>
  /** Cancels builds in flight and waits for their end. */
  stop(): Promise<void>
}

/** Creates an indexer. It uses connections outside the pools, since a build outlasts every statement of a request. */
export function createIndexer(deps: Pick<Database, 'system' | 'aside' | 'engine'>): Indexer {
  const work = new WorkInFlight()

  async function run(
    table: Table,
    required: readonly RequiredIndex[],
    signal: AbortSignal,
  ): Promise<IndexChanges> {
    const changes = await buildIndexes(deps, {
      tryLock: (transaction) => queries.tryLockIndexes(transaction, table),
      signal,
      run: (worker) => changeExplained(worker, table, required),
    })
    if (changes === undefined) throw searchErrors.searchIndexBuildInProgress()
    return changes
  }

  return {
    async apply(table, required, signal) {
      const signals = signal === undefined ? [work.signal] : [work.signal, signal]
      const running = run(table, required, AbortSignal.any(signals)).catch((error) => {
        throw toIndexError(error)
      })
      return await work.add(running)
    },
    stop: () => work.stop(),
  }
}

async function changeExplained(
  worker: Connection,
  table: Table,
  required: readonly RequiredIndex[],
): Promise<IndexChanges> {
  try {
    return await change(worker, table, required)
  } catch (error) {
    const missing = await explainMissingRight(
      error,
      async (query) => (await worker.query<RemedyRow>(query)).rows,
    )
    throw missing ?? error
  }
}

/** Builds new indexes first, since searches use the old ones until they exist. */
async function change(
  worker: Connection,
  table: Table,
  required: readonly RequiredIndex[],
): Promise<IndexChanges> {
  const began = performance.now()
  const present = await queries.listOwnIndexes(queryableOn(worker), table)
  const built: string[] = []
  const dropped: string[] = []
  for (const index of required) {
    if (present.some(({ name, is_valid }) => name === index.name && is_valid)) continue
    if (table.kind === 'partitioned_table') await buildOnPartitions(worker, table, index)
    else await build(worker, table, index.name, index)
    built.push(index.name)
  }
  const names = new Set(required.map(({ name }) => name))
  for (const { name } of present.filter((index) => !names.has(index.name) && !index.is_part)) {
    await drop(worker, table, name)
    dropped.push(name)
  }
  if (table.kind === 'partitioned_table') await dropStrayParts(worker, table)
  return { built, dropped, durationMs: Math.round(performance.now() - began) }
}

async function build(worker: Connection, table: Table, name: string, { keys }: RequiredIndex): Promise<void> {
  const invalid = { ...table, kind: 'table' } as const
  // The index belongs to an interrupted build. While another build is in flight, this one does not hold the lock.
  await drop(worker, invalid, name)
  try {
    await worker.query(queries.createIndex(name, table, keys, { isConcurrent: true }))
  } catch (error) {
    // An index left by a failure only costs time.
    await drop(worker, invalid, name).catch(() => undefined)
    throw error
  }
}

/**
 * Builds the index on the partitions first. An index of a partitioned table cannot be built concurrently, but it
 * takes over existing indexes of its partitions, which is fast (PostgreSQL, CREATE INDEX).
 */
async function buildOnPartitions(worker: Connection, table: Table, index: RequiredIndex): Promise<void> {
  const queryable = queryableOn(worker)
  for (const part of await queries.listPartitions(queryable, table)) {
    const partName = partIndexName(index.name, part)
    const own = await queries.listOwnIndexes(queryable, part)
    if (own.some(({ name, is_valid }) => name === partName && is_valid)) continue
    await build(worker, { ...part, kind: 'table' }, partName, index)
  }
  await inTransaction(worker, async (transaction) => {
    await limitWaiting(transaction)
    await transaction.count(sql`drop index if exists ${sql.id(table.schema, index.name)}`)
    await transaction.count(queries.createIndex(index.name, table, index.keys, { isConcurrent: false }))
  })
}

async function drop(worker: Connection, { schema, kind }: Table, name: string): Promise<void> {
  if (kind !== 'partitioned_table') {
    await worker.query(queries.dropIndex(schema, name, { isConcurrent: true }))
    return
  }
  // The indexes of its partitions are dropped with it.
  await inTransaction(worker, async (transaction) => {
    await limitWaiting(transaction)
    await transaction.count(queries.dropIndex(schema, name, { isConcurrent: false }))
  })
}

/** Drops indexes of builds that were interrupted before the partitioned table took the indexes over. */
async function dropStrayParts(worker: Connection, table: Table): Promise<void> {
  const queryable = queryableOn(worker)
  for (const part of await queries.listPartitions(queryable, table)) {
    const own = await queries.listOwnIndexes(queryable, part)
    for (const { name } of own.filter((index) => !index.is_part)) {
      await drop(worker, { ...part, kind: 'table' }, name)
    }
  }
}

async function limitWaiting(transaction: Queryable): Promise<void> {
  await transaction.one(sql`select set_config('lock_timeout', ${String(lockTimeoutMs)}, true)`)
}

const lockNotAvailable = '55P03'

/** Returns the error for the administrator; the statement stays in the log. */
function toIndexError(error: unknown): unknown {
  if (error instanceof AppError) return error
  if (error instanceof GaveWay || codeOf(error) === lockNotAvailable) {
    return searchErrors.searchIndexGaveWay().with({ cause: error })
  }
  const translated = translateDatabaseFailure(error)
  if (translated !== undefined && translated.status === 503) return translated
  const code = codeOf(error) ?? ''
  const reason = code === '' ? 'internal error' : messageOf(error)
  return searchErrors.searchIndexFailed().with({ data: { reason }, cause: error })
}
