import type { Column } from '../../../../database/catalog/model.ts'
import { StatementFailed } from '../../../../database/connection/message.ts'
import {
  hasUnstorableCharacter,
  isDefinitionFault,
  isRaised,
  translateDatabaseFailure,
} from '../../../../database/errors/error-translation.ts'
import { conflictCodes } from '../../../../database/errors/retry.ts'
import { sql } from '../../../../database/sql.ts'
import type { UserTransaction } from '../../../../database/user-database.ts'
import { fill, type StatementCache } from '../statement-cache.ts'
import { compileLengthCheck, compileValueCheck, rangeSlots } from './compile.ts'
import { describeFault } from './records.ts'

/** PostgreSQL refuses a row for a policy in this routine, and says the same of a missing privilege elsewhere. */
const policyRoutine = 'ExecWithCheckOptions'

/** Of rows that two of a statement collide, which one by one they do not. */
const cardinalityViolation = '21000'

/** Whether a row of the statement is to blame, so that others may be fine. */
export function isFaultOfRow(failure: StatementFailed, isUpserting: boolean): boolean {
  const { error } = failure
  const { code = '', routine } = error
  const isClientFault = (translateDatabaseFailure(failure)?.status ?? 500) < 500
  // Its author chose the code.
  if (isRaised(error)) return isClientFault && !conflictCodes.has(code)
  if (code === '42501') return routine === policyRoutine
  if (code === cardinalityViolation) return isUpserting
  if (!/^(22|23|44|P0|428C9|54000|54001|XX000)/.test(code) || isDefinitionFault(error)) return false
  return isClientFault
}

/** The reason in words. */
export function describeReason(failure: StatementFailed): string {
  const translated = translateDatabaseFailure(failure)
  return translated === undefined ? 'refused by the database' : describeFault(translated)
}

/** The reason with the column where one is to blame, which asks the database twice. */
export async function describeRefusal(
  failure: StatementFailed,
  columns: readonly Column[],
  row: number,
  transaction: UserTransaction,
  statements: StatementCache,
): Promise<string> {
  const reason = describeReason(failure)
  const { code = '' } = failure.error
  // Such a character spoils the whole row.
  if (!/^(22|XX000|54)/.test(code) || hasUnstorableCharacter(failure.error)) return reason
  const column = await findColumn(columns, row, transaction, statements)
  return column === undefined ? reason : `${column}: ${reason}`
}

/** The first column whose value does not fit by itself. */
async function findColumn(
  columns: readonly Column[],
  row: number,
  transaction: UserTransaction,
  statements: StatementCache,
): Promise<string | undefined> {
  const slots = rangeSlots(row, row)
  const savepoint = statements.call(sql`savepoint value_check`)
  const rollback = statements.call(sql`rollback to savepoint value_check`)
  try {
    const checks = columns.map((column) => fill(statements.template(compileValueCheck(column)), slots))
    await transaction.run([savepoint, ...checks])
    const lengths = columns.flatMap((column) => compileLengthCheck(column) ?? [])
    const answers = await transaction.run(lengths.map((check) => fill(statements.template(check), slots)))
    return answers.flatMap(({ rows }) => rows[0]?.[0] ?? [])[0]
  } catch (error) {
    if (!(error instanceof StatementFailed)) throw error
    await transaction.run([rollback])
    // The savepoint is the first step.
    return columns[error.index - 1]?.name
  }
}
