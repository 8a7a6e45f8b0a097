import { sql } from '../../../../database/sql.ts'
import type { UserTransaction } from '../../../../database/user-database.ts'
import { analyzeStaging, copyCommand, countUpdated, createStaging } from './compile.ts'
import { Insertion, type RunPlan } from './insertion.ts'
import type { Spool } from './spool.ts'

export interface RunCounts {
  readonly inserted: number
  readonly updated: number
}

/** Maximum number of rows whose changes are delivered at once, since they are held in memory. */
const capturedAtOnce = 2000
/** Number of rows per statement of an import with progress reports. */
const watchedAtOnce = 20_000
/** Number of statements per message where rows are written one by one. */
const singlesAtOnce = 200

/**
 * Copies the rows of the spool and inserts them, one statement per column set. Rows that a deferred constraint
 * rejects at the end are left out, and the others are inserted again.
 *
 * @throws StatementFailed where no row is to blame
 */
export async function insertRows(
  transaction: UserTransaction,
  spool: Spool,
  plan: RunPlan,
): Promise<RunCounts> {
  const { capture, faults, isPartial, statements, progress } = plan
  await transaction.run([{ ...statements.call(createStaging), asLogin: true }])
  await transaction.copyAsLogin(copyCommand, spool.read())
  await transaction.run([{ ...statements.call(analyzeStaging), asLogin: true }])
  const insertion = new Insertion(transaction, spool, plan)
  const isMerged = await insertion.mayMerge()
  const mergedSize = progress === undefined ? spool.rowCount : watchedAtOnce
  const size = isMerged ? (capture.length === 0 ? mergedSize : capturedAtOnce) : singlesAtOnce
  const begin = statements.call(sql`savepoint import_rows`)
  const undo = [
    statements.call(sql`rollback to savepoint import_rows`),
    statements.call(sql`release savepoint import_rows`),
  ]
  await transaction.run([begin])
  for (;;) {
    const known = faults.copy()
    const all = { first: 1, last: spool.rowCount }
    const touched = await insertion.insertParts(all, Math.max(1, size), isMerged)
    // Nothing will be written, and rows may lack one that was rejected.
    if (faults.count > 0 && !isPartial) return { inserted: 0, updated: 0 }
    const broken = await insertion.checkDeferred()
    if (broken.length === 0) {
      const [answer] = await transaction.run([statements.call(countUpdated)])
      const updated = Number(answer?.rows[0]?.[0])
      return { inserted: touched - updated, updated }
    }
    if (isPartial) {
      faults.restore(known)
      await transaction.run([...undo, insertion.leaveOut(broken.map(({ row }) => row)), begin])
      progress?.restart()
    }
    for (const { row, message } of broken) faults.add(row, message)
    if (!isPartial) return { inserted: 0, updated: 0 }
  }
}
