import { databaseErrorOf, translateDatabaseFailure } from '../../../database/errors/error-translation.ts'
import { cutText } from '../../../lib/cut-text.ts'
import { AppError } from '../../../lib/errors.ts'
import type { SqlStatement } from '../../../lib/sql-statements.ts'
import { sqlRunnerErrors } from './errors.ts'
import type { RunMode } from './request.ts'
import { locateInScript } from './script.ts'

/** Location of a failure in a run. */
export interface FailureLocation {
  readonly query: string
  readonly mode: RunMode
  /** Identity under which policies apply to the run. */
  readonly runAs: string
  /** Statement that failed. Undefined for a failure at the commit. */
  readonly statement: SqlStatement | undefined
  readonly index: number
  /** Number of characters that were put before the statement. */
  readonly prefix?: number
  /** Statement that grants the missing privilege. */
  readonly remedy?: string | undefined
}

type DatabaseError = NonNullable<ReturnType<typeof databaseErrorOf>>

/**
 * Describes a PostgreSQL error for an administrator. It is complete, since the statement is the administrator's own.
 */
export function describeSqlFailure(failure: unknown, location: FailureLocation): AppError {
  if (failure instanceof AppError) return failure
  const error = databaseErrorOf(failure)
  if (error === undefined) {
    const translated = translateDatabaseFailure(failure)
    if (translated === undefined) throw failure
    return translated
  }
  const { code = '', detail, where, schema, table, column, constraint } = error
  return sqlRunnerErrors.sqlFailed(cutText(error.message)).with({
    data: {
      sqlState: code,
      statement: location.index,
      ...positionOf(error, location),
      ...present({
        detail,
        hint: error.hint ?? hintOf(error, location) ?? location.remedy,
        where,
        schema,
        table,
        column,
        constraint,
      }),
    },
    cause: error,
  })
}

function positionOf(error: DatabaseError, { query, statement, prefix = 0 }: FailureLocation): object {
  if (statement === undefined) return {}
  if (error.position === undefined) return { line: statement.line }
  return locateInScript(query, statement.start, Number(error.position) - prefix)
}

const whoMayWrite = 'Owners and developers may set mode to write.'

function hintOf(
  { code = '', routine = '' }: DatabaseError,
  { mode, runAs }: FailureLocation,
): string | undefined {
  if (code === '25006' && mode === 'read') return `The run is read-only. ${whoMayWrite}`
  if (code === '42501' && mode === 'read' && runAs === 'administrator')
    return `The run is read-only, by a role that may not do this. ${whoMayWrite}`
  // This applies to CREATE INDEX CONCURRENTLY, VACUUM and others.
  if (code === '25001' && routine === 'PreventInTransactionBlock')
    return 'Run each statement by itself: set transaction to each.'
  return undefined
}

function present(members: Readonly<Record<string, string | undefined>>): object {
  return Object.fromEntries(
    Object.entries(members).flatMap(([name, value]) => (value === undefined ? [] : [[name, cutText(value)]])),
  )
}
