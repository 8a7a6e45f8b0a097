import type { Step } from '../../../../database/caller/caller-steps.ts'
import type { Catalog, Relation } from '../../../../database/catalog/model.ts'
import { isNotCaptured } from '../../../../database/change-log.ts'
import type { Call } from '../../../../database/connection/message.ts'
import { StatementFailed } from '../../../../database/connection/message.ts'
import { sql } from '../../../../database/sql.ts'
import type { UserTransaction } from '../../../../database/user-database.ts'
import { isJoinRefused, joinCheck, relationSlots } from '../compile/batch.ts'
import { fill, type StatementCache } from '../statement-cache.ts'
import type { ImportProgress } from './background.ts'
import {
  analyzeStaging,
  compileInsertRange,
  copyCommand,
  countUpdated,
  createStaging,
  type InsertOptions,
  leaveOutRows,
  rangeSlots,
  rowsOfRange,
  rowsSlots,
} from './compile.ts'
import { type FindCommitted, findBrokenRows } from './deferred.ts'
import { importErrors } from './errors.ts'
import { describeReason, describeRefusal, isFaultOfRow } from './faults.ts'
import type { RowFault, RowFaults } from './row-faults.ts'
import type { Spool } from './spool.ts'

export interface RunPlan {
  readonly catalog: Catalog
  readonly relation: Relation
  readonly insert: InsertOptions
  /** Steps that hand on what an insert has changed; none without a listener. */
  readonly capture: readonly Step[]
  readonly faults: RowFaults
  /** Whether the rows that are not at fault are to be written. */
  readonly isPartial: boolean
  /** Rows that the database may refuse in the mode `partial`. */
  readonly maxRefused: number
  readonly statements: StatementCache
  readonly findCommitted: FindCommitted
  /** Where it is watched. */
  readonly progress?: Pick<ImportProgress, 'wrote' | 'restart'> | undefined
}

export interface RunCounts {
  readonly inserted: number
  readonly updated: number
}

/** Rows whose changes are handed on at once: they are held in memory. */
const capturedAtOnce = 2000
/** Rows that are written at once where progress is shown. */
const watchedAtOnce = 20_000
/** Statements of one message, where rows are written one by one. */
const singlesAtOnce = 200
/**
 * Rows that the database refuses before an import that keeps nothing ends. Each is a statement of its own: of a file of
 * 90,000 that a policy refuses, all took minutes.
 */
const countedWhereNothingIsKept = 1000
/** Parts that rows are split into when one of them is refused. */
const parts = 10

/**
 * Copies the rows of the spool and inserts them, those of a set of columns by one statement. Where rows are refused they
 * are split and tried again, down to the single ones that are at fault.
 *
 * @throws StatementFailed where no row is to blame
 */
export async function insertRows(
  transaction: UserTransaction,
  spool: Spool,
  plan: RunPlan,
): Promise<RunCounts> {
  const { relation, insert, capture, faults, isPartial, maxRefused, statements, progress } = plan
  const asLogin = (step: Call): Step => ({ ...step, asLogin: true })
  const savepoint = statements.call(sql`savepoint import_range`)
  const release = statements.call(sql`release savepoint import_range`)
  // A savepoint stays after a rollback to it. Those of refused rows would nest, one in the other: memory for each, and
  // time for each with every statement.
  const rollbackAlone = statements.call(sql`rollback to savepoint import_range`)
  const rollback = [rollbackAlone, release]
  const isUpserting = insert.onConflict === 'update'
  /** Rows that the database has refused. */
  let refused = 0
  const mayEnd = () => !isPartial && refused >= countedWhereNothingIsKept

  function insertStep(first: number, last: number, columnSet: number): Step {
    const template = statements.template(
      compileInsertRange(relation, spool.columnSets[columnSet] ?? [], insert),
    )
    return fill(template, rangeSlots(first, last, columnSet))
  }

  async function setsOf(first: number, last: number): Promise<readonly [row: number, columnSet: number][]> {
    const [answer] = await transaction.run([fill(statements.template(rowsOfRange), rangeSlots(first, last))])
    return (answer?.rows ?? []).map(([row, set]) => [Number(row), Number(set)])
  }

  /** The inserts of a range, in their order. */
  async function insertsOf(first: number, last: number, isJoined: boolean): Promise<readonly Step[]> {
    const sets = spool.columnSets
    if (isJoined) {
      const ordinals = sets.length === 1 ? [0] : await distinctSets(first, last)
      return ordinals.map((ordinal) => insertStep(first, last, ordinal))
    }
    return (await setsOf(first, last)).map(([row, ordinal]) => insertStep(row, row, ordinal))
  }

  async function distinctSets(first: number, last: number): Promise<readonly number[]> {
    if (first !== last) return spool.columnSets.map((_, ordinal) => ordinal)
    return (await setsOf(first, last)).map(([, ordinal]) => ordinal)
  }

  async function insertRange(first: number, last: number, isJoined: boolean): Promise<number> {
    const inserts = await insertsOf(first, last, isJoined)
    try {
      const steps = inserts.flatMap((step) => [step, ...capture])
      const answers = await transaction.run([savepoint, ...steps, release])
      const counts = inserts.map((_, index) =>
        Number(answers[1 + index * (1 + capture.length)]?.rows[0]?.[0]),
      )
      const written = counts.reduce((sum, count) => sum + count, 0)
      progress?.wrote(written, faults.count)
      return written
    } catch (error) {
      if (!(error instanceof StatementFailed) || isNotCaptured(error) || !isFaultOfRow(error, isUpserting))
        throw error
      await transaction.run(rollback)
      if (first === last) {
        await refuse(first, error)
        return 0
      }
      return await insertParts(first, last, Math.ceil((last - first + 1) / parts), isJoined)
    }
  }

  async function insertParts(first: number, last: number, size: number, isJoined: boolean): Promise<number> {
    let touched = 0
    for (let start = first; start <= last && !mayEnd(); start += size) {
      touched += await insertRange(start, Math.min(last, start + size - 1), isJoined)
    }
    return touched
  }

  /** @throws AppError too_many_rows_refused */
  async function refuse(row: number, failure: StatementFailed): Promise<void> {
    refused += 1
    if (isPartial && refused > maxRefused) throw importErrors.tooManyRowsRefused(maxRefused)
    if (!faults.isExamining) {
      faults.add(row, describeReason(failure))
      return
    }
    const [[, ordinal] = [row, 0]] = spool.columnSets.length === 1 ? [] : await setsOf(row, row)
    const columns = spool.columnSets[ordinal] ?? []
    faults.add(row, await describeRefusal(failure, { relation, columns, row }, transaction, statements))
  }

  /** Checks what is deferred while it can still be undone. @throws StatementFailed where no row is to blame */
  async function checkDeferred(): Promise<readonly RowFault[]> {
    try {
      await transaction.run([savepoint, statements.call(sql`set constraints all immediate`), release])
      return []
    } catch (error) {
      if (!(error instanceof StatementFailed)) throw error
      // The rows at fault are looked for within the savepoint.
      await transaction.run([rollbackAlone])
      const broken = await findBrokenRows(
        { transaction, statements, findCommitted: plan.findCommitted },
        relation,
        error,
      )
      // PostgreSQL tells the key of the first row alone.
      const message = `foreign key violation (${error.error.constraint}: the row referred to is not present)`
      const rows = broken.map((row) => ({ row, message }))
      if (rows.length === 0) throw error
      return rows
    }
  }

  /** Whether rows of one statement fare as those of one each would. */
  async function mayJoin(): Promise<boolean> {
    // Of two rows with one key and other columns the later one has to be the last to be written.
    if (isUpserting && spool.columnSets.length > 1) return false
    try {
      await transaction.run([
        savepoint,
        fill(statements.template(joinCheck), relationSlots(relation)),
        release,
      ])
      return true
    } catch (error) {
      if (!(error instanceof StatementFailed) || !isJoinRefused(error)) throw error
      await transaction.run(rollback)
      return false
    }
  }

  await transaction.run([asLogin(statements.call(createStaging))])
  await transaction.copyAsLogin(copyCommand, spool.read())
  await transaction.run([asLogin(statements.call(analyzeStaging))])
  const isJoined = await mayJoin()
  const joinedSize = progress === undefined ? spool.rowCount : watchedAtOnce
  const size = isJoined ? (capture.length === 0 ? joinedSize : capturedAtOnce) : singlesAtOnce
  const begin = statements.call(sql`savepoint import_rows`)
  const undo = [
    statements.call(sql`rollback to savepoint import_rows`),
    statements.call(sql`release savepoint import_rows`),
  ]
  await transaction.run([begin])
  for (;;) {
    const known = faults.copy()
    const touched = await insertParts(1, spool.rowCount, Math.max(1, size), isJoined)
    // Nothing will be written, and rows may lack one that was refused.
    if (faults.count > 0 && !isPartial) return { inserted: 0, updated: 0 }
    const broken = await checkDeferred()
    if (broken.length === 0) {
      const [answer] = await transaction.run([statements.call(countUpdated)])
      const updated = Number(answer?.rows[0]?.[0])
      return { inserted: touched - updated, updated }
    }
    if (isPartial) {
      faults.restore(known)
      const leaveOut = fill(statements.template(leaveOutRows), rowsSlots(broken.map(({ row }) => row)))
      await transaction.run([...undo, asLogin(leaveOut), begin])
      progress?.restart()
    }
    for (const { row, message } of broken) faults.add(row, message)
    if (!isPartial) return { inserted: 0, updated: 0 }
  }
}
