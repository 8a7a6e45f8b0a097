import type { Catalog } from '../../database/catalog/model.ts'
import type { ChangeLog } from '../../database/change-log.ts'
import { translateDatabaseFailure } from '../../database/errors.ts'
import { type Call, StatementFailed } from '../../database/message.ts'
import type { UserDatabase } from '../../database/user-database.ts'
import type { AppError } from '../../lib/errors.ts'
import { mayBeOutdated } from './catalog-access.ts'
import { compileRun, isRowMissing, runSlots } from './compile/batch.ts'
import { collectionErrors } from './errors.ts'
import { type BatchOperation, blameOperation } from './parse/batch.ts'
import { type BatchRun, planBatch } from './plan/batch.ts'
import type { Reader } from './plan/reader.ts'
import { explainRefusal } from './refusal.ts'
import type { Caller } from './service.ts'
import { fill, type StatementCache } from './statements.ts'

export interface BatchDeps {
  readonly statements: StatementCache
  readonly database: UserDatabase
  readonly changes: ChangeLog
}

/** Runs the operations in one transaction and one message; answers their results as a JSON array. */
export type RunBatch = (
  catalog: Catalog,
  caller: Caller,
  reader: Reader,
  operations: readonly BatchOperation[],
) => Promise<string>

export function createBatchRunner({ statements, database, changes }: BatchDeps): RunBatch {
  /** The calls of the runs in order, each with its run. */
  function compileRuns(
    catalog: Catalog,
    reader: Reader,
    runs: readonly BatchRun[],
  ): { call: Call; run: BatchRun }[] {
    return runs.flatMap((run) => {
      const capture = changes.capture(run.relation, run.method)
      const isCaptured = capture !== undefined
      const positions = run.columns.map(({ position }) => position).join()
      const key = `run ${run.method} ${reader} ${isCaptured} ${positions} ${run.relation.collection}`
      const template = statements.remember(catalog, key, () =>
        statements.template(compileRun(run, reader, isCaptured)),
      )
      const call = fill(template, runSlots(run))
      return capture === undefined
        ? [{ call, run }]
        : [
            { call, run },
            { call: capture, run },
          ]
    })
  }

  async function runSeparatelyOr(
    separately: boolean,
    ...[catalog, caller, reader, operations]: Parameters<RunBatch>
  ): Promise<string> {
    const compiled = compileRuns(catalog, reader, planBatch(operations, reader, separately))
    const calls = compiled.map(({ call }) => call)
    try {
      const answers = await database.run(caller.scope, calls, {
        isRead: false,
        isAbandoned: caller.isAbandoned,
      })
      const results = answers.filter((_, index) => compiled[index]?.run !== compiled[index - 1]?.run)
      return `[${results.map((answer) => answer.rows[0]?.[0] ?? '').join(',')}]`
    } catch (error) {
      if (!(error instanceof StatementFailed) || mayBeOutdated(error)) throw error
      const failed = compiled[error.index]?.run
      const operation = failed?.operations[0]
      // A deferred constraint speaks at the commit, of no operation in particular.
      if (failed === undefined || operation === undefined) throw error
      // Nothing has happened yet: once more, one by one, to learn which operation of the run it is.
      if (failed.operations.length > 1)
        return await runSeparatelyOr(true, catalog, caller, reader, operations)
      throw blameOperation(operationError(error, operation), operation.index, operation.method)
    }
  }

  return (...batch) => runSeparatelyOr(false, ...batch)
}

function operationError(failure: StatementFailed, operation: BatchOperation): AppError {
  if (isRowMissing(failure)) {
    return operation.method === 'create'
      ? collectionErrors.rowDiscarded()
      : collectionErrors.recordNotFound(operation.id.join(','))
  }
  const error = translateDatabaseFailure(failure)
  if (error === undefined) throw failure
  return operation.method === 'delete' ? error : explainRefusal(error)
}
