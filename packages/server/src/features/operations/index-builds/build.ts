import type { Logger } from 'pino'
import { buildIndexes } from '../../../database/build-indexes.ts'
import type { Connection } from '../../../database/connection/connection.ts'
import type { Database } from '../../../database/open.ts'
import { sql } from '../../../database/sql.ts'
import { type Queryable, queryableOn } from '../../../database/system-database.ts'

export interface IndexBuildDeps extends Pick<Database, 'system' | 'aside' | 'engine'> {
  readonly log: Logger
  readonly signal: AbortSignal
}

/** Row of `basalt.index_builds`. */
interface PendingIndex {
  readonly name: string
  readonly definition: string
  readonly replaces: string | null
}

/**
 * Builds the indexes that `basalt.index_builds` lists, one after the other, on one node at a time. Writers of
 * the table wait only for the locks of `create index concurrently`.
 *
 * @returns false when some are left, because another node builds them
 * @throws GaveWay when another session changes the table
 */
export async function buildPendingIndexes(deps: IndexBuildDeps): Promise<boolean> {
  if ((await listPending(deps.system)).length === 0) return true
  const isDone = await buildIndexes(deps, {
    tryLock,
    signal: deps.signal,
    async run(worker) {
      for (const index of await listPending(queryableOn(worker))) {
        const begunAt = performance.now()
        await build(worker, index)
        const seconds = Math.round((performance.now() - begunAt) / 1000)
        deps.log.info({ index: index.name, seconds }, 'built an index')
      }
      return true
    },
  })
  return isDone ?? false
}

async function listPending(database: Queryable): Promise<PendingIndex[]> {
  return await database.many<PendingIndex & Record<string, unknown>>(
    sql`select name, definition, replaces from basalt.index_builds order by ordinal`,
  )
}

/**
 * Acquires the lock. The statement has no parameters, because they would leave a portal whose snapshot blocks
 * a concurrent build.
 */
async function tryLock(transaction: Queryable): Promise<boolean> {
  const { is_locked } = await transaction.one<{ is_locked: boolean }>(sql`
    select pg_try_advisory_xact_lock(hashtextextended('basalt index builds', 0)) as is_locked`)
  return is_locked
}

async function build(worker: Connection, { name, definition, replaces }: PendingIndex): Promise<void> {
  const index = sql.id('basalt', name)
  const { rows } = await worker.query<{ is_valid: boolean }>(sql`
    select indisvalid as is_valid from pg_index where indexrelid = to_regclass(${`basalt.${name}`})`)
  // A failed or interrupted build leaves an invalid index, which only costs.
  if (rows[0]?.is_valid === false) await worker.query(sql`drop index concurrently if exists ${index}`)
  if (rows[0]?.is_valid !== true) {
    // Both parts come from a migration.
    await worker.script(`create index concurrently ${name} ${definition}`)
  }
  if (replaces !== null)
    await worker.query(sql`drop index concurrently if exists ${sql.id('basalt', replaces)}`)
  await worker.query(sql`delete from basalt.index_builds where name = ${name}`)
}
