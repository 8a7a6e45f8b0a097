import type { Connection } from '../../database/connection/connection.ts'
import { runStatement, withRemedy } from '../../database/errors/script-failure.ts'
import { sql } from '../../database/sql.ts'
import { inTransaction, type Queryable, queryableOn } from '../../database/system-database.ts'
import { OperatorError } from '../../lib/errors.ts'
import type { SqlStatement } from '../../lib/sql-statements.ts'
import { readSchema } from '../schema/objects.ts'
import { type MigrationSettings, pauseOrFail, setTimeouts } from './attempts.ts'
import type { MigrationFile } from './files.ts'
import { deleteUnfinished, finish, insertStarted, listLedger, updateProgress } from './ledger.ts'
import { withMigrationLock } from './lock.ts'
import { planMigrations, requireNoObstacle } from './plan.ts'
import { recordChanges } from './recorded-schema.ts'

interface Options {
  readonly files: readonly MigrationFile[]
  readonly settings: MigrationSettings
  readonly allowLate: boolean
  /** True if an index that it leaves invalid is dropped, so that it has no effect. */
  readonly dropsInvalid?: boolean
  readonly onRetry: ((message: string) => void) | undefined
}

/**
 * Runs the statements of a file one by one, each in a transaction of its own. The progress is stored before the
 * next one begins, so that a killed migration is found and named.
 *
 * @param open opens a session of its own; undefined behind a transaction pooler
 * @returns false when another node applied it meanwhile
 * @throws OperatorError
 */
export async function applyWithoutTransaction(
  open: (() => Promise<Connection>) | undefined,
  file: MigrationFile,
  options: Options,
): Promise<boolean> {
  if (open === undefined) {
    throw new OperatorError(
      `${file.name} runs without a transaction, for which it needs a session of its own: set database.listen_url to a ` +
        'direct connection',
    )
  }
  const connection = await open()
  try {
    return await withMigrationLock(connection, async (session) => {
      const plan = planMigrations(options.files, await listLedger(session))
      requireNoObstacle(plan, options.allowLate)
      if (!(await insertStarted(session, file))) return false
      await run(connection, session, file, options)
      return true
    })
  } finally {
    await connection.close()
  }
}

async function run(
  connection: Connection,
  session: Queryable,
  file: MigrationFile,
  options: Options,
): Promise<void> {
  const before = await inTransaction(connection, readSchema)
  const invalidBefore = new Set((await listInvalidIndexes(session)).map(({ name }) => name))
  // `create index concurrently if not exists` would accept an index that was invalid before.
  const text = file.statements.map((statement) => statement.text).join('\n')
  const findInvalid = async () =>
    (await listInvalidIndexes(session))
      .filter(({ name, index }) => !invalidBefore.has(name) || text.includes(index))
      .map(({ name }) => name)
  let done = 0
  try {
    for (const statement of file.statements) {
      await setTimeouts(session, options.settings, 'session')
      await runWithRetries(connection, statement, file, options)
      done += 1
      await updateProgress(session, file.name, done)
    }
    if ((await findInvalid()).length > 0) throw new OperatorError(`${file.name} left an index invalid`)
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error
    if (done === 0 && options.dropsInvalid === true) await dropAbandoned(connection, await findInvalid())
    const invalid = await findInvalid()
    const isUndone = done === 0 && invalid.length === 0
    if (isUndone) await deleteUnfinished(session, file.name)
    throw isUndone
      ? error
      : new OperatorError(describePart(error.message, file, done, invalid), { cause: error })
  }
  await session.count(sql`reset role`)
  await session.count(sql`reset all`)
  await inTransaction(connection, async (transaction) => {
    await recordChanges(transaction, before)
    await finish(transaction, file.name, done)
  })
}

/**
 * Drops invalid indexes, except for those that another session is building.
 *
 * @param indexes as quoted names
 */
async function dropAbandoned(connection: Connection, indexes: readonly string[]): Promise<void> {
  const building = await queryableOn(connection).many<{ name: string }>(sql`
    select format('%I.%I', n.nspname, c.relname) as name
    from pg_stat_progress_create_index p
    join pg_class c on c.oid = p.index_relid
    join pg_namespace n on n.oid = c.relnamespace
    where p.datname = current_database() and p.pid <> pg_backend_pid()`)
  const others = new Set(building.map(({ name }) => name))
  for (const index of indexes.filter((name) => !others.has(name))) {
    // An index that cannot be dropped is named, as without this attempt.
    await connection.script(`drop index concurrently ${index}`).catch(() => undefined)
  }
}

function describePart(
  message: string,
  { name, statements }: MigrationFile,
  done: number,
  invalid: readonly string[],
): string {
  const remedies = invalid.map((index) => `; the index ${index} is invalid: drop index concurrently ${index}`)
  return (
    `${message}${remedies.join('')}; ${done} of ${statements.length} statements are done: finish or undo them by hand, ` +
    `then run basalt migrate resolve ${name} --applied or --pending`
  )
}

/** Runs a statement with retries. @throws OperatorError */
async function runWithRetries(
  connection: Connection,
  statement: SqlStatement,
  file: MigrationFile,
  { settings, onRetry }: Options,
): Promise<void> {
  // A concurrent statement that fails leaves an invalid index: another attempt would find its name in use.
  const isRepeatable = !statement.words.includes('concurrently')
  for (let number = 1; ; number += 1) {
    try {
      await runStatement(connection, statement)
      return
    } catch (error) {
      await pauseOrFail(await withRemedy(connection, error), file, {
        number,
        isRepeatable,
        settings,
        onRetry,
      })
    }
  }
}

/** Lists the indexes of a `create index concurrently` that failed or is running. */
async function listInvalidIndexes(queryable: Queryable): Promise<{ name: string; index: string }[]> {
  return await queryable.many<{ name: string; index: string }>(sql`
    select format('%I.%I', n.nspname, c.relname) as name, c.relname as index
    from pg_index i
    join pg_class c on c.oid = i.indexrelid
    join pg_namespace n on n.oid = c.relnamespace
    where not i.indisvalid and c.relkind = 'i' and n.nspname not in ('pg_toast', 'basalt')
    order by name`)
}
