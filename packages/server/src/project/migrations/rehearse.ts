import { type CatalogScope, loadCatalog } from '../../database/catalog/load.ts'
import { compareRelationNames, type RelationChange } from '../../database/catalog/relation-changes.ts'
import type { Connection } from '../../database/connection/connection.ts'
import { runStatement, ScriptFailure } from '../../database/errors/script-failure.ts'
import { inTransaction, queryableOn } from '../../database/system-database.ts'
import { OperatorError } from '../../lib/errors.ts'
import type { SqlStatement } from '../../lib/sql-statements.ts'
import { type AccessChange, compareAccess, readAccess } from '../schema/access.ts'
import { type Break, compareColumns, type KnownColumns, listColumns } from './compatibility.ts'
import type { MigrationFile } from './files.ts'
import {
  describeLock,
  findRewritten,
  type HeldLock,
  type LockAcquisition,
  listFiles,
  type Rewritten,
  runAndWatchLocks,
} from './observe.ts'

export interface Rehearsed {
  readonly name: string
  readonly durationMs: number
  /**
   * Strongest lock on each relation that existed before. No locks are observed for a file without a
   * transaction.
   */
  readonly locks: readonly HeldLock[]
  readonly rewritten: readonly Rewritten[]
  readonly breaks: readonly Break[]
}

export interface Rehearsal {
  readonly migrations: readonly Rehearsed[]
  readonly access: readonly AccessChange[]
  /** Names of `expand` and filters with a new meaning. */
  readonly relations: readonly RelationChange[]
}

/** Runs the files on a copy, and observes their effects. @throws OperatorError with the line that fails */
export async function rehearse(
  connection: Connection,
  files: readonly MigrationFile[],
  scope: CatalogScope,
): Promise<Rehearsal> {
  const readCatalog = () =>
    inTransaction(connection, (transaction) => loadCatalog(transaction, scope, new Date(0)))
  const before = await inTransaction(connection, readAccess)
  const catalog = await readCatalog()
  const known = await listColumns(queryableOn(connection))
  const migrations: Rehearsed[] = []
  for (const file of files) migrations.push(await rehearseFile(connection, file, known))
  const after = await inTransaction(connection, readAccess)
  const relations = compareRelationNames(catalog, await readCatalog())
  return { migrations, access: compareAccess(before, after), relations }
}

/** Runs one file. @param known columns that existed before the first file */
async function rehearseFile(
  connection: Connection,
  file: MigrationFile,
  known: KnownColumns,
): Promise<Rehearsed> {
  const queryable = queryableOn(connection)
  const before = await listFiles(queryable)
  const breaks: Break[] = []
  let columns = await listColumns(queryable, known.keys())
  const after = async ({ line }: SqlStatement) => {
    const now = await listColumns(queryable, known.keys())
    breaks.push(...compareColumns(columns, now).map((each) => ({ line, ...each })))
    columns = now
  }
  const startedAt = performance.now()
  let taken: LockAcquisition[] = []
  try {
    if (file.isTransaction) {
      taken = await inTransaction(connection, () =>
        runAndWatchLocks(connection, file.statements, before, { after }),
      )
    } else {
      for (const statement of file.statements) {
        await runStatement(connection, statement)
        await after(statement)
      }
    }
  } catch (error) {
    if (!(error instanceof ScriptFailure)) throw error
    throw new OperatorError(`${file.name}:${error.line}: ${error.message}`, { cause: error })
  }
  const endedAt = performance.now()
  await connection.script('reset role; reset all')
  return {
    name: file.name,
    durationMs: Math.round(endedAt - startedAt),
    locks: taken.map((lock) => describeLock(lock, endedAt)),
    rewritten: findRewritten(before, await listFiles(queryable)),
    breaks,
  }
}
