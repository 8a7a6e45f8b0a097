import type { Column, Relation } from '../../../database/catalog/model.ts'
import {
  definitionError,
  isDefinitionFault,
  isUnplacedDataFault,
} from '../../../database/error-translation.ts'
import { StatementFailed } from '../../../database/message.ts'
import type { UserDatabase } from '../../../database/user-database.ts'
import type { AppError } from '../../../lib/errors.ts'
import type { Caller } from './access/caller.ts'
import { compileBodyCheck, writeSlots } from './compile/write.ts'
import { fill, type StatementCache } from './statement-cache.ts'

/** What a statement of a request worked on. */
export interface Work {
  /** The collection first, then what it expands. */
  readonly relations: readonly Relation[]
  /** What a create or update writes. */
  readonly body?: { readonly columns: readonly Column[]; readonly json: string }
}

export interface DefinitionFaultDeps {
  readonly database: Pick<UserDatabase, 'run'>
  readonly statements: StatementCache
  /** Whether errors carry the text of PostgreSQL for everybody, and not for administrators alone. */
  readonly isDevelopment: boolean
}

/** Answers the error to throw instead of a failure, when what the operator defined is at fault. */
export type FindDefinitionFault = (
  caller: Caller,
  failure: unknown,
  work: Work,
) => Promise<AppError | undefined>

/**
 * Tells a fault of the operator's policies, views and functions from a value of the client that does not fit.
 * PostgreSQL says so of functions (CONTEXT) and of parameters. What is left is a data exception without a place:
 *
 * - In a read all values of the client are parameters, so it comes from a policy or a view.
 * - In a write it may be a value of the body, which is therefore converted once more by itself: when that goes well,
 *   a policy is at fault, unless the table converts values by generated columns or checks of its own.
 */
export function createDefinitionFaultFinder({
  database,
  statements,
  isDevelopment,
}: DefinitionFaultDeps): FindDefinitionFault {
  async function isFault(caller: Caller, { error }: StatementFailed, work: Work): Promise<boolean> {
    if (isDefinitionFault(error)) return true
    if (!isUnplacedDataFault(error)) return false
    if (!work.relations.some((relation) => hasDefinitions(relation, caller))) return false
    if (work.body === undefined) return true
    if (assignmentCodes.has(error.code ?? '') || work.relations.some(convertsValues)) return false
    return await fitsByItself(caller, work.relations[0], work.body)
  }

  async function fitsByItself(
    caller: Caller,
    relation: Relation | undefined,
    { columns, json }: NonNullable<Work['body']>,
  ): Promise<boolean> {
    if (relation === undefined) return false
    const check = fill(statements.template(compileBodyCheck(relation, columns)), writeSlots(json, []))
    try {
      await database.run(caller.scope, [check], { isRead: true, isAbandoned: caller.isAbandoned })
      return true
    } catch (error) {
      if (error instanceof StatementFailed) return false
      throw error
    }
  }

  return async (caller, failure, work) => {
    if (!(failure instanceof StatementFailed) || !(await isFault(caller, failure, work))) return undefined
    const relation = work.relations[0]?.collection ?? ''
    return definitionError(failure.error, relation, isDevelopment || caller.isAdministrator)
  }
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
