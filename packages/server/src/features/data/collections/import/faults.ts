import type { Column, Relation } from '../../../../database/catalog/model.ts'
import { type Call, StatementFailed } from '../../../../database/connection/message.ts'
import { isRaised, originOf } from '../../../../database/errors/definition-faults.ts'
import {
  hasUnstorableCharacter,
  translateDatabaseFailure,
} from '../../../../database/errors/error-translation.ts'
import { conflictCodes } from '../../../../database/errors/retry.ts'
import { type Sql, sql } from '../../../../database/sql.ts'
import type { UserTransaction } from '../../../../database/user-database.ts'
import { compileGeneratedColumns, compileGeneratedProbe, type GeneratedColumn } from '../compile/probes.ts'
import { fill, type StatementCache } from '../statement-cache.ts'
import { compileLengthCheck, compileRowSourceOf, compileValueCheck, rangeSlots } from './compile.ts'
import { describeFault } from './records.ts'

/**
 * Routine in which PostgreSQL rejects a row because of a policy. For a missing privilege it reports the same code
 * elsewhere.
 */
const policyRoutine = 'ExecWithCheckOptions'

/** SQLSTATE of two colliding rows in one statement. One by one they do not collide. */
const cardinalityViolation = '21000'

/** Returns whether a row of the statement is to blame, so that others may succeed. */
export function isFaultOfRow(failure: StatementFailed, isUpserting: boolean): boolean {
  const { error } = failure
  const { code = '', routine } = error
  const isClientFault = (translateDatabaseFailure(failure)?.status ?? 500) < 500
  // The author of the function chose the code.
  if (isRaised(error)) return isClientFault && !conflictCodes.has(code)
  if (code === '42501') return routine === policyRoutine
  if (code === cardinalityViolation) return isUpserting
  const origin = originOf(error)
  if (origin === 'unknown') return true
  return origin === 'request' && /^(22|23|44|P0|428C9|54001|XX000)/.test(code) && isClientFault
}

/** Returns the reason in words for a row that is not examined in detail. */
export function describeReason(failure: StatementFailed): string {
  // PostgreSQL's message may be about a row that is hidden from the caller.
  const { code = '' } = failure.error
  if (originOf(failure.error) !== 'unknown') return inWords(failure)
  return `${code.startsWith('22') ? 'invalid value' : 'refused by the database'} (SQLSTATE ${code})`
}

function inWords(failure: StatementFailed): string {
  const translated = translateDatabaseFailure(failure)
  return translated === undefined ? 'refused by the database' : describeFault(translated)
}

/** Row of an import that was rejected. */
export interface RefusedRow {
  readonly relation: Relation
  readonly columns: readonly Column[]
  /** Number of the row, from 1. */
  readonly row: number
}

/**
 * Returns the reason, with the column if one is to blame. It takes two database round trips.
 *
 * @throws the failure, where no value of the row is to blame
 */
export async function describeRefusal(
  failure: StatementFailed,
  refused: RefusedRow,
  transaction: UserTransaction,
  statements: StatementCache,
): Promise<string> {
  const { code = '' } = failure.error
  const isUnknown = originOf(failure.error) === 'unknown'
  if (!isUnknown && !/^(22|XX000|54)/.test(code)) return inWords(failure)
  const found = await findMisfit(failure, refused, transaction, statements)
  if (found !== undefined) return found
  if (isUnknown && code !== '54000') throw failure
  return inWords(failure)
}

/** Finds the first value that does not fit by itself, or that a generated column cannot be computed from. */
async function findMisfit(
  failure: StatementFailed,
  { relation, columns, row }: RefusedRow,
  transaction: UserTransaction,
  statements: StatementCache,
): Promise<string | undefined> {
  const slots = rangeSlots(row, row)
  const savepoint = statements.call(sql`savepoint value_check`)
  const release = statements.call(sql`release savepoint value_check`)
  const rollback = statements.call(sql`rollback to savepoint value_check`)
  const call = (fragment: Sql) => fill(statements.template(fragment), slots)
  const attempt = async (calls: readonly Call[]): Promise<StatementFailed | undefined> => {
    try {
      await transaction.run([savepoint, ...calls, release])
      return undefined
    } catch (error) {
      if (!(error instanceof StatementFailed)) throw error
      await transaction.run([rollback, release])
      return error
    }
  }
  const misfit = await attempt(columns.map((column) => call(compileValueCheck(column))))
  // A domain has constraints of the operator, too, which may fail by themselves.
  if (misfit !== undefined && (translateDatabaseFailure(misfit)?.status ?? 500) < 500) {
    // Such a character invalidates the whole row. The savepoint is the first step.
    const column = hasUnstorableCharacter(misfit.error) ? undefined : columns[misfit.index - 1]
    return column === undefined ? inWords(misfit) : `${column.name}: ${inWords(misfit)}`
  }
  const lengths = columns.flatMap((column) => compileLengthCheck(column) ?? [])
  const answers = await transaction.run(lengths.map(call))
  const [long] = answers.flatMap(({ rows }) => rows[0]?.[0] ?? [])
  if (long !== undefined) return `${long}: ${inWords(failure)}`
  if (!relation.columns.some(({ isGenerated }) => isGenerated)) return undefined
  const [answer] = await transaction.run([statements.call(compileGeneratedColumns(relation))])
  const generated: readonly GeneratedColumn[] = JSON.parse(answer?.rows[0]?.[0] ?? '[]')
  const source = compileRowSourceOf(columns)
  const uncomputed = await attempt(
    generated.map((each) => call(compileGeneratedProbe(relation, columns, each, source))),
  )
  return uncomputed?.error.code === failure.error.code && uncomputed !== undefined
    ? inWords(uncomputed)
    : undefined
}
