import { randomUUID } from 'node:crypto'
import type { Connection } from '../../../database/connection/connection.ts'
import { explainMissingRight, type RemedyRow } from '../../../database/errors/denials.ts'
import { translateDatabaseFailure } from '../../../database/errors/error-translation.ts'
import { GaveWay, givingWay } from '../../../database/giving-way.ts'
import { onConnection } from '../../../database/on-connection.ts'
import type { Database } from '../../../database/open.ts'
import { type Sql, sql } from '../../../database/sql.ts'
import { AppError, codeOf, messageOf } from '../../../lib/errors.ts'
import { WorkInFlight } from '../../../lib/work-in-flight.ts'
import { compileCreateIndex, type VectorIndexDefinition } from './definition.ts'
import { vectorIndexErrors } from './errors.ts'
import * as queries from './queries.ts'

/** Maximum time that a build waits for a lock on the table. */
const lockTimeoutMs = 60_000

/**
 * Builder that creates and drops indexes on connections of their own, to the end even if the client has disconnected.
 */
export interface IndexBuilder {
  /** Builds an index. @throws AppError index_build_in_progress, vector_index_exists, index_refused, index_failed */
  build(definition: VectorIndexDefinition): Promise<void>
  /** Drops an index without blocking readers and writers of the table. */
  drop(schema: string, name: string): Promise<void>
  /** Cancels builds in flight and waits for their end. */
  stop(): Promise<void>
}

export function createIndexBuilder({
  system,
  aside,
  engine,
}: Pick<Database, 'system' | 'aside' | 'engine'>): IndexBuilder {
  const work = new WorkInFlight()

  async function run(statement: Sql): Promise<void> {
    work.signal.throwIfAborted()
    await onConnection(aside, await aside.open(), work.signal, async (connection) => {
      // The connection of a pooler is shared, so settings would stay on it.
      if (!engine.isPooled) await relaxTimeouts(connection)
      // An administrator requested the build, so other sessions wait for its end, unless it would wait for theirs.
      const build = async () => void (await connection.query(statement))
      if (engine.isPooled) await build()
      else await givingWay({ system, aside, to: 'deadlocked' }, connection, build)
    })
  }

  const drop = (schema: string, name: string) =>
    run(sql`drop index concurrently if exists ${sql.id(schema, name)}`)

  /** Drops the index of a failed or interrupted build, which costs every write and supports no read. */
  async function dropInvalid({ relation, name }: VectorIndexDefinition): Promise<void> {
    const found = await queries.findVectorIndex(system, relation.schema, name)
    if (found?.valid === false && found.table === relation.name) await drop(relation.schema, name)
  }

  async function create(definition: VectorIndexDefinition): Promise<void> {
    const { relation, name } = definition
    await dropInvalid(definition)
    if (await queries.isNameTaken(system, relation.schema, name))
      throw vectorIndexErrors.vectorIndexExists(name)
    try {
      await run(compileCreateIndex(definition))
    } catch (error) {
      await dropInvalid(definition).catch(() => undefined)
      const missing = await explainMissingRight(error, (query) => system.many<RemedyRow>(query))
      throw missing ?? toBuildError(error, name)
    }
  }

  async function underLease(definition: VectorIndexDefinition): Promise<void> {
    const holder = randomUUID()
    if (!(await queries.leaseBuild(system, holder))) throw vectorIndexErrors.indexBuildInProgress()
    const renewal = setInterval(
      () => void queries.renewBuild(system, holder).catch(() => undefined),
      (queries.leaseSeconds * 1000) / 3,
    ).unref()
    try {
      await create(definition)
    } finally {
      clearInterval(renewal)
      await queries.releaseBuild(system, holder).catch(() => undefined)
    }
  }

  return {
    build: (definition) => work.add(underLease(definition)),
    drop: (schema, name) => work.add(drop(schema, name)),
    stop: () => work.stop(),
  }
}

async function relaxTimeouts(connection: Connection): Promise<void> {
  await connection.query(sql`
    select set_config('statement_timeout', '0', false),
      set_config('lock_timeout', ${String(lockTimeoutMs)}, false)`)
}

/** Returns the error for the client. The statement and its context stay in the log. */
function toBuildError(error: unknown, name: string): AppError {
  if (error instanceof AppError) return error
  if (error instanceof GaveWay) return vectorIndexErrors.indexGaveWay()
  const code = codeOf(error) ?? ''
  // Another session has created an index of the name meanwhile.
  if (code === '42P07') return vectorIndexErrors.vectorIndexExists(name)
  const translated = translateDatabaseFailure(error)
  if (translated?.status === 503) return translated
  const reason = code === '' ? 'internal error' : messageOf(error)
  // These are values, limits of the type, and definitions that do not match.
  const isRefused = /^(22|42|54|0A)/.test(code)
  const create = isRefused ? vectorIndexErrors.indexRefused : vectorIndexErrors.indexFailed
  return create(reason).with({ cause: error })
}
