import type { Column, Relation } from '../../../database/catalog/model.ts'
import { StatementFailed } from '../../../database/connection/message.ts'
import { explainMissingRight } from '../../../database/errors/denials.ts'
import {
  definitionError,
  hasUnstorableCharacter,
  isDefinitionFault,
  isUnplacedDataFault,
  translateDatabaseFailure,
} from '../../../database/errors/error-translation.ts'
import type { UserDatabase } from '../../../database/user-database.ts'
import type { AppError } from '../../../lib/errors.ts'
import type { Caller } from './access/caller.ts'
import { lengthLimit } from './compile/body.ts'
import { compileValueCheck, keepBody, writeSlots } from './compile/write.ts'
import { fill, type StatementCache } from './statement-cache.ts'

/** What a statement of a request worked on. */
export interface Work {
  /** The collection first, then what it expands. */
  readonly relations: readonly Relation[]
  /** What a create or update writes. */
  readonly body?: { readonly columns: readonly Column[]; readonly json: string }
}

export interface FailureExplainerDeps {
  readonly database: Pick<UserDatabase, 'run'>
  readonly statements: StatementCache
  /** Whether faults of definitions carry the text of PostgreSQL for everybody, and not for administrators alone. */
  readonly isDevelopment: boolean
}

/** Answers the error to throw instead of a failure of which more can be said. */
export type ExplainFailure = (caller: Caller, failure: unknown, work: Work) => Promise<AppError | undefined>

/**
 * Tells a fault of the operator's policies, views and functions from a value of the client that does not fit, and which
 * column that is for. PostgreSQL says so of functions (CONTEXT) and of parameters. What is left is a data exception without
 * a place:
 *
 * - In a read all values of the client are parameters, so it comes from a policy or a view.
 * - In a write it may be a value of the body. Each is therefore converted once more by itself: when that goes well, a
 *   policy is at fault, unless the table converts values by generated columns or checks of its own.
 */
export function createFailureExplainer({
  database,
  statements,
  isDevelopment,
}: FailureExplainerDeps): ExplainFailure {
  /** The first column whose value does not fit by itself. */
  async function findMisfit(
    caller: Caller,
    { relations: [relation], body: { columns, json } }: WriteWork,
  ): Promise<Column | undefined> {
    if (relation === undefined) return undefined
    const keep = fill(statements.template(keepBody), writeSlots(json, []))
    const checks = columns.map((column) => statements.call(compileValueCheck(relation, column)))
    try {
      await database.run(caller.scope, [keep, ...checks], { isRead: true, isAbandoned: caller.isAbandoned })
    } catch (error) {
      if (error instanceof StatementFailed) return columns[error.index - 1]
      throw error
    }
    return columns.find((column) => isTooLong(column, json))
  }

  /** Of an existing database the login role need not be an owner. */
  function missingRight(caller: Caller, failure: StatementFailed): Promise<AppError | undefined> {
    return explainMissingRight(failure, async (query) => {
      const [answer] = await database.run(caller.scope, [statements.call(query)], { isRead: true })
      return (answer?.rows ?? []).map(([statement, runner]) => ({
        statement: statement ?? '',
        runner: runner ?? '',
      }))
    })
  }

  return async (caller, failure, work) => {
    if (!(failure instanceof StatementFailed)) return undefined
    const { error } = failure
    if (isLogin(caller) && error.code === '42501') return await missingRight(caller, failure)
    const faultOfDefinition = () =>
      definitionError(error, work.relations[0]?.collection ?? '', isDevelopment || caller.isAdministrator)
    if (isDefinitionFault(error)) return faultOfDefinition()
    if (!isUnplacedDataFault(error)) return undefined
    const isDefined = work.relations.some((relation) => hasDefinitions(relation, caller))
    if (!isWrite(work)) return isDefined ? faultOfDefinition() : undefined
    // Such a character spoils the whole body.
    if (hasUnstorableCharacter(error)) return undefined
    const column = await findMisfit(caller, work)
    if (column !== undefined) return namingColumn(failure, column)
    if (assignmentCodes.has(error.code ?? '') || work.relations.some(convertsValues)) return undefined
    return isDefined ? faultOfDefinition() : undefined
  }
}

/** Whether the rights of the login role are at fault, which only an administrator learns. */
function isLogin({ scope, isAdministrator }: Caller): boolean {
  return isAdministrator && scope.kind === 'unrestricted'
}

interface WriteWork extends Work {
  readonly body: NonNullable<Work['body']>
}

function isWrite(work: Work): work is WriteWork {
  return work.body !== undefined
}

function namingColumn(failure: StatementFailed, { name }: Column): AppError | undefined {
  const error = translateDatabaseFailure(failure)
  return error?.with({ data: { [name]: { code: error.kind, message: error.message } } })
}

/** Whether it is a text or bits of more than the column takes, which a conversion by itself would cut off. */
function isTooLong({ name, typeName }: Column, json: string): boolean {
  const limit = lengthLimit(typeName)
  if (limit === undefined) return false
  const value: unknown = JSON.parse(json)[name]
  return typeof value === 'string' && [...value].length > limit
}

/** Text and bits that are too long for their column: seen only when the value is stored. */
const assignmentCodes = new Set(['22001', '22026'])

/** Whether reading or writing the relation evaluates what the operator wrote. */
function hasDefinitions({ kind, columns, rlsEnabled, policies }: Relation, { scope }: Caller): boolean {
  const isStored = kind === 'table' || kind === 'partitioned_table'
  return (
    !isStored ||
    columns.some(({ isGenerated }) => isGenerated) ||
    (scope.kind !== 'unrestricted' &&
      rlsEnabled &&
      policies.some(({ isForCallers }) => scope.kind === 'anonymous' || isForCallers))
  )
}

/** Whether the table itself may refuse a value by converting it, which is for the client to mend. */
function convertsValues({ columns, checks }: Relation): boolean {
  return (
    columns.some(({ isGenerated }) => isGenerated) || checks.some(({ definition }) => hasCast(definition))
  )
}

/** A cast of something else than a constant to something else than text, as PostgreSQL prints it. */
function hasCast(definition: string): boolean {
  return /[^']::(?!text\b|character varying\b)/.test(definition)
}
