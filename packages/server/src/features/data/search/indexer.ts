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
import type { WantedIndex } from './wanted-indexes.ts'

/** Longest time that a statement which keeps others from the table waits for them: later statements queue behind it. */
const lockTimeoutMs = 200

type Table = Pick<Relation, 'schema' | 'name' | 'kind'>

export interface IndexChanges {
  readonly built: readonly string[]
  readonly dropped: readonly string[]
  readonly durationMs: number
}

/** Builds and drops search indexes without keeping readers and writers from their tables. */
export interface Indexer {
  /**
   * Gives a table the wanted indexes and no others. What a crash has left half built is built again.
   *
   * @throws AppError search_index_build_in_progress while another node or command does the same; search_index_gave_way
   *   when another session changes the table; search_index_failed
   */
  apply(table: Table, wanted: readonly WantedIndex[], signal?: AbortSignal): Promise<IndexChanges>
  /** Cancels what is in flight and waits for its end. */
  stop(): Promise<void>
}

/** Connections beside the pools: a build outlasts every statement of a request. */
export function createIndexer(deps: Pick<Database, 'system' | 'aside' | 'engine'>): Indexer {
  const work = new WorkInFlight()

  async function run(
    table: Table,
    wanted: readonly WantedIndex[],
    signal: AbortSignal,
  ): Promise<IndexChanges> {
    const changes = await buildIndexes(deps, {
      tryLock: (transaction) => queries.tryLockIndexes(transaction, table),
      signal,
      run: (worker) => changeExplained(worker, table, wanted),
    })
    if (changes === undefined) throw searchErrors.searchIndexBuildInProgress()
    return changes
  }

  return {
    async apply(table, wanted, signal) {
      const signals = signal === undefined ? [work.signal] : [work.signal, signal]
      const running = run(table, wanted, AbortSignal.any(signals)).catch((error) => {
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
  wanted: readonly WantedIndex[],
): Promise<IndexChanges> {
  try {
    return await change(worker, table, wanted)
  } catch (error) {
    const missing = await explainMissingRight(
      error,
      async (query) => (await worker.query<RemedyRow>(query)).rows,
    )
    throw missing ?? error
  }
}

/** New indexes first: searches use the old ones until they are there. */
async function change(
  worker: Connection,
  table: Table,
  wanted: readonly WantedIndex[],
): Promise<IndexChanges> {
  const began = performance.now()
  const present = await queries.listOwnIndexes(queryableOn(worker), table)
  const built: string[] = []
  const dropped: string[] = []
  for (const index of wanted) {
    if (present.some(({ name, is_valid }) => name === index.name && is_valid)) continue
    if (table.kind === 'partitioned_table') await buildOnPartitions(worker, table, index)
    else await build(worker, table, index.name, index)
    built.push(index.name)
  }
  const names = new Set(wanted.map(({ name }) => name))
  for (const { name } of present.filter((index) => !names.has(index.name) && !index.is_part)) {
    await drop(worker, table, name)
    dropped.push(name)
  }
  if (table.kind === 'partitioned_table') await dropStrayParts(worker, table)
  return { built, dropped, durationMs: Math.round(performance.now() - began) }
}

async function build(worker: Connection, table: Table, name: string, { keys }: WantedIndex): Promise<void> {
  const invalid = { ...table, kind: 'table' } as const
  // Of a build that was cut off; while another one is in flight the lock is not ours.
  await drop(worker, invalid, name)
  try {
    await worker.query(queries.createIndex(name, table, keys, { isConcurrent: true }))
  } catch (error) {
    // What failed leaves an index that only costs.
    await drop(worker, invalid, name).catch(() => undefined)
    throw error
  }
}

/**
 * An index of a partitioned table cannot be built concurrently, but takes over those that its parts have already, which
 * then takes a moment (PostgreSQL, CREATE INDEX).
 */
async function buildOnPartitions(worker: Connection, table: Table, index: WantedIndex): Promise<void> {
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
  // Its parts go with it.
  await inTransaction(worker, async (transaction) => {
    await limitWaiting(transaction)
    await transaction.count(queries.dropIndex(schema, name, { isConcurrent: false }))
  })
}

/** Of builds that were cut off before the partitioned table took them over. */
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

/** What the administrator gets to know; the statement stays in the log. */
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
