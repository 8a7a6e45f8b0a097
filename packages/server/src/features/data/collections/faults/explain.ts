import type { Relation } from '../../../../database/catalog/model.ts'
import { StatementFailed } from '../../../../database/connection/message.ts'
import {
  definitionError,
  isMissingPrivilege,
  isRaised,
  originOf,
} from '../../../../database/errors/definition-faults.ts'
import { explainMissingRight } from '../../../../database/errors/denials.ts'
import type { UserDatabase } from '../../../../database/user-database.ts'
import type { AppError } from '../../../../lib/errors.ts'
import type { Caller } from '../access/caller.ts'
import type { RowsPlan } from '../plan/rows.ts'
import type { StatementCache } from '../statement-cache.ts'
import { findBodyFault, type WrittenBody } from './body-faults.ts'
import { findConditionFault } from './condition-faults.ts'
import type { Probe } from './probe.ts'

/** What a statement of a request worked on. */
export interface Work {
  /** The collection first, then what it expands. */
  readonly relations: readonly Relation[]
  readonly action: 'read' | 'write'
  /** The conditions of a list, or of a write by filter. */
  readonly rows?: RowsPlan | undefined
  /** What a create or update writes. */
  readonly body?: WrittenBody | undefined
}

export interface FailureExplainerDeps {
  readonly database: Pick<UserDatabase, 'run'>
  readonly statements: StatementCache
  /** True if faults of definitions carry the text of PostgreSQL for everybody, and not for administrators alone. */
  readonly isDevelopment: boolean
}

/**
 * Returns the error to throw instead of a failure of which more can be said. It tells a fault of the operator's policies,
 * views, defaults, constraints and functions from a value of the client that does not fit. PostgreSQL says so of functions
 * (CONTEXT) and of parameters. Where it does not, the values of the request are converted and compared once more by
 * themselves. When that fails, its own error is answered, since that of the statement may quote a row that the caller must
 * not see. When it goes well, what the operator defined is at fault.
 */
export async function explainFailure(
  { database, statements, isDevelopment }: FailureExplainerDeps,
  caller: Caller,
  failure: unknown,
  work: Work,
): Promise<AppError | undefined> {
  if (!(failure instanceof StatementFailed) || isRaised(failure.error)) return undefined
  const { error } = failure
  if (isLogin(caller) && error.code === '42501') {
    // The login role need not own an existing database.
    return await explainMissingRight(failure, async (query) => {
      const [answer] = await database.run(caller.scope, [statements.call(query)], { isRead: true })
      return (answer?.rows ?? []).map(([statement, runner]) => ({
        statement: statement ?? '',
        runner: runner ?? '',
      }))
    })
  }
  const faultOfDefinition = () =>
    definitionError(error, work.relations[0]?.collection ?? '', isDevelopment || caller.isAdministrator)
  const origin = originOf(error)
  if (origin === 'definition') return faultOfDefinition()
  if (isDeniedWithin(failure, work)) return faultOfDefinition()
  // A list violates no constraint, unless an expression has a value of a domain.
  const isOfDomain = error.code?.startsWith('23') === true && error.dataType !== undefined
  if (origin !== 'unplaced' && !isOfDomain) return undefined
  const probe: Probe = { caller, database, statements }
  const fault =
    (work.rows && (await findConditionFault(probe, failure, work.rows))) ??
    (work.body && (await findBodyFault(probe, failure, work.relations[0], work.body)))
  if (fault !== undefined) return fault
  // A domain refuses NULL where the body has no value.
  if (error.code === '23502' && work.action === 'write') return undefined
  if (isOfRequest(failure, work)) return undefined
  const isDefined = work.action === 'write' || work.relations.some((each) => hasDefinitions(each, caller))
  return isDefined ? faultOfDefinition() : undefined
}

/** Returns whether the rights of the login role are at fault, which only an administrator learns. */
function isLogin({ scope, isAdministrator }: Caller): boolean {
  return isAdministrator && scope.kind === 'unrestricted'
}

/** Returns whether it is of a request that does nothing wrong by itself: PostgreSQL compares what it cannot, or stores too much. */
function isOfRequest({ error }: StatementFailed, { action, relations }: Work): boolean {
  const { code, where, routine = '' } = error
  if (code === '54000') return action === 'write' && storingRoutines.test(routine)
  // Rows, arrays and ranges of what has no order.
  return (
    code === '42883' &&
    where === undefined &&
    relations.some(({ columns }) =>
      columns.some(({ type }) => (type.attributes ?? type.element ?? type.range) !== undefined),
    )
  )
}

/** Of indexes and of text search vectors, which PostgreSQL makes of what is stored. */
const storingRoutines = /^(?:_?bt|_?hash|brin|gin|gist|spg|index_form|make_tsvector|to_tsvector|tsvector)/i

/**
 * Returns whether a policy reads what the caller may not, which is none of the relations that the request names. PostgreSQL
 * says so in its message alone, which is in English unless it was told otherwise.
 */
function isDeniedWithin({ error }: StatementFailed, { relations }: Work): boolean {
  const [, denied] = /^permission denied for table (.*)$/.exec(error.message) ?? []
  if (denied === undefined || !isMissingPrivilege(error)) return false
  // A view may be meant to read with the rights of its caller.
  return relations.every(
    ({ name, kind }) => name !== denied && (kind === 'table' || kind === 'partitioned_table'),
  )
}

/** Returns whether reading the relation evaluates what the operator wrote. */
function hasDefinitions({ kind, rlsEnabled, isBypassed, policies }: Relation, { scope }: Caller): boolean {
  if (kind !== 'table' && kind !== 'partitioned_table') return true
  if (!rlsEnabled) return false
  if (scope.kind === 'unrestricted') return !isBypassed
  return policies.some(({ isForCallers }) => scope.kind === 'anonymous' || isForCallers)
}
