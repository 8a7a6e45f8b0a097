import type { Step } from '../../../../database/caller/caller-steps.ts'
import type { Relation } from '../../../../database/catalog/model.ts'
import { isNotCaptured } from '../../../../database/change-log.ts'
import { type Call, StatementFailed } from '../../../../database/connection/message.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import type { UserTransaction } from '../../../../database/user-database.ts'
import { isMergeRefused, mergeCheck, relationSlots } from '../compile/batch.ts'
import { fill, type SlotValues, type StatementCache } from '../statement-cache.ts'
import type { ImportProgress } from './background.ts'
import {
  compileInsertRange,
  type InsertOptions,
  leaveOutRows,
  rangeSlots,
  rowsOfRange,
  rowsSlots,
} from './compile.ts'
import { type FindCommitted, findBrokenRows } from './deferred.ts'
import { importErrors } from './errors.ts'
import { describeReason, describeRefusal, isFaultOfRow } from './faults.ts'
import type { RowFault } from './result.ts'
import type { RowFaults } from './row-faults.ts'
import type { Spool } from './spool.ts'

export interface RunPlan {
  readonly relation: Relation
  readonly insert: InsertOptions
  /** Steps that deliver the changes of an insert; empty without a listener. */
  readonly capture: readonly Step[]
  readonly faults: RowFaults
  /** True if the rows without a fault are to be written. */
  readonly isPartial: boolean
  /** Maximum number of rows that the database may reject in the mode `partial`. */
  readonly maxRefused: number
  readonly statements: StatementCache
  readonly findCommitted: FindCommitted
  /** Progress that the import reports to. */
  readonly progress?: Pick<ImportProgress, 'wrote' | 'restart'> | undefined
}

/**
 * Number of rejected rows after which an import ends if it keeps nothing. Each takes a statement of its own: a file
 * of 90,000 rows that a policy rejects took minutes.
 */
const countedWhereNothingIsKept = 1000
/** Number of parts that rows are split into when one of them is rejected. */
const parts = 10

/** Range of row ordinals, first and last included. */
interface Range {
  readonly first: number
  readonly last: number
}

/** Insertion of spooled rows, within a transaction that has staged them. */
export class Insertion {
  readonly #transaction: UserTransaction
  readonly #spool: Spool
  readonly #plan: RunPlan
  readonly #isUpserting: boolean
  readonly #savepoint: Call
  readonly #release: Call
  readonly #rollback: Call
  /** Number of rows that the database has rejected. */
  #refused = 0

  constructor(transaction: UserTransaction, spool: Spool, plan: RunPlan) {
    this.#transaction = transaction
    this.#spool = spool
    this.#plan = plan
    this.#isUpserting = plan.insert.onConflict === 'update'
    this.#savepoint = plan.statements.call(sql`savepoint import_range`)
    this.#release = plan.statements.call(sql`release savepoint import_range`)
    this.#rollback = plan.statements.call(sql`rollback to savepoint import_range`)
  }

  /** Returns whether merged rows have the same result as one statement each. */
  async mayMerge(): Promise<boolean> {
    // The later of two rows with one key and different columns has to be written last.
    if (this.#isUpserting && this.#spool.columnSets.length > 1) return false
    const check = this.#call(mergeCheck, relationSlots(this.#plan.relation))
    try {
      await this.#transaction.run([this.#savepoint, check, this.#release])
      return true
    } catch (error) {
      if (!(error instanceof StatementFailed) || !isMergeRefused(error)) throw error
      await this.#undo()
      return false
    }
  }

  /**
   * Inserts the rows of a range in parts of a given size. If a row is rejected, its part is split and retried, down
   * to the single rows at fault.
   *
   * @returns the number of rows that were written
   * @throws StatementFailed where no row is to blame
   */
  async insertParts({ first, last }: Range, size: number, isMerged: boolean): Promise<number> {
    const mayEnd = () => !this.#plan.isPartial && this.#refused >= countedWhereNothingIsKept
    let written = 0
    for (let start = first; start <= last && !mayEnd(); start += size) {
      written += await this.#insertRange({ first: start, last: Math.min(last, start + size - 1) }, isMerged)
    }
    return written
  }

  /**
   * Checks deferred constraints while the insert can still be undone. @throws StatementFailed where no row is to
   * blame
   */
  async checkDeferred(): Promise<readonly RowFault[]> {
    const { relation, statements, findCommitted } = this.#plan
    const check = statements.call(sql`set constraints all immediate`)
    try {
      await this.#transaction.run([this.#savepoint, check, this.#release])
      return []
    } catch (error) {
      if (!(error instanceof StatementFailed)) throw error
      // The rows at fault are searched for within the savepoint.
      await this.#transaction.run([this.#rollback])
      const context = { transaction: this.#transaction, statements, findCommitted }
      const broken = await findBrokenRows(context, relation, error)
      if (broken.length === 0) throw error
      // PostgreSQL reports only the key of the first row.
      const message = `foreign key violation (${error.error.constraint}: the row referred to is not present)`
      return broken.map((row) => ({ row, message }))
    }
  }

  /** Returns the step that removes rows from the staging table, as the login role. */
  leaveOut(rows: readonly number[]): Step {
    return { ...this.#call(leaveOutRows, rowsSlots(rows)), asLogin: true }
  }

  async #insertRange(range: Range, isMerged: boolean): Promise<number> {
    const { capture, faults, progress } = this.#plan
    const inserts = await this.#insertsOf(range, isMerged)
    try {
      const steps = inserts.flatMap((step) => [step, ...capture])
      const answers = await this.#transaction.run([this.#savepoint, ...steps, this.#release])
      const counts = inserts.map((_, index) =>
        Number(answers[1 + index * (1 + capture.length)]?.rows[0]?.[0]),
      )
      const written = counts.reduce((sum, count) => sum + count, 0)
      progress?.wrote(written, faults.count)
      return written
    } catch (error) {
      const isOfRow =
        error instanceof StatementFailed && !isNotCaptured(error) && isFaultOfRow(error, this.#isUpserting)
      if (!isOfRow) throw error
      await this.#undo()
      const { first, last } = range
      if (first < last) return await this.insertParts(range, Math.ceil((last - first + 1) / parts), isMerged)
      await this.#refuse(first, error)
      return 0
    }
  }

  /** Returns the inserts of a range, in order. */
  async #insertsOf({ first, last }: Range, isMerged: boolean): Promise<readonly Step[]> {
    if (!isMerged) {
      const sets = await this.#setsOf({ first, last })
      return sets.map(([row, set]) => this.#insertStep({ first: row, last: row }, set))
    }
    const { columnSets } = this.#spool
    const sets =
      columnSets.length === 1 || first < last
        ? columnSets.keys()
        : (await this.#setsOf({ first, last })).map(([, set]) => set)
    return Array.from(sets, (set) => this.#insertStep({ first, last }, set))
  }

  #insertStep({ first, last }: Range, columnSet: number): Step {
    const { relation, insert } = this.#plan
    const fragment = compileInsertRange(relation, this.#spool.columnSets[columnSet] ?? [], insert)
    return this.#call(fragment, rangeSlots(first, last, columnSet))
  }

  async #setsOf({ first, last }: Range): Promise<readonly [row: number, columnSet: number][]> {
    const [answer] = await this.#transaction.run([this.#call(rowsOfRange, rangeSlots(first, last))])
    return (answer?.rows ?? []).map(([row, set]) => [Number(row), Number(set)])
  }

  /** @throws AppError too_many_rows_refused */
  async #refuse(row: number, failure: StatementFailed): Promise<void> {
    const { relation, faults, isPartial, maxRefused, statements } = this.#plan
    const { columnSets } = this.#spool
    this.#refused += 1
    if (isPartial && this.#refused > maxRefused) throw importErrors.tooManyRowsRefused(maxRefused)
    if (!faults.isExamining) {
      faults.add(row, describeReason(failure))
      return
    }
    const [[, set] = [row, 0]] = columnSets.length === 1 ? [] : await this.#setsOf({ first: row, last: row })
    const refused = { relation, columns: columnSets[set] ?? [], row }
    faults.add(row, await describeRefusal(failure, refused, this.#transaction, statements))
  }

  /**
   * Undoes everything after the savepoint and renews the savepoint, which a rollback to it keeps. Otherwise the
   * savepoints of rejected rows would nest, at the cost of memory for each, and of time for each with every
   * statement.
   */
  async #undo(): Promise<void> {
    await this.#transaction.run([this.#rollback, this.#release])
  }

  #call(fragment: Sql, slots: SlotValues): Call {
    return fill(this.#plan.statements.template(fragment), slots)
  }
}
