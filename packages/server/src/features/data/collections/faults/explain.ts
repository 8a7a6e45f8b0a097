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
import { findBodyFault, type WriteBody } from './body-faults.ts'
import { findConditionFault } from './condition-faults.ts'
import type { Probe } from './probe.ts'

/** Subject of a request's statement. */
export interface Work {
  /** Relations of the statement: the collection first, then the expanded ones. */
  readonly relations: readonly Relation[]
  readonly action: 'read' | 'write'
  /** Conditions of a list or of a write by filter. */
  readonly rows?: RowsPlan | undefined
  /** Body that a create or update writes. */
  readonly body?: WriteBody | undefined
}

export interface FailureExplainerDeps {
  readonly database: Pick<UserDatabase, 'run'>
  readonly statements: StatementCache
  /**
   * True if errors of the operator's definitions carry PostgreSQL's text for every caller, not only for
   * administrators.
   */
  readonly isDevelopment: boolean
}

/**
 * Returns a more precise error for a failure, or undefined. It distinguishes a fault in the operator's policies,
 * views, defaults, constraints and functions from a client value that does not fit. PostgreSQL says which for
 * functions (CONTEXT) and for parameters.
 *
 * Where PostgreSQL does not say, the values of the request are converted and compared once more by themselves. If
 * that fails, its error is returned, since the error of the statement may quote a row that is hidden from the caller.
 * If it succeeds, the operator's definitions are at fault.
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
    // The login role need not be the owner of an existing database.
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
  // A list violates no constraint, unless an expression has a value of a domain type.
  const isOfDomain = error.code?.startsWith('23') === true && error.dataType !== undefined
  if (origin !== 'unknown' && !isOfDomain) return undefined
  const probe: Probe = { caller, database, statements }
  const fault =
    (work.rows && (await findConditionFault(probe, failure, work.rows))) ??
    (work.body && (await findBodyFault(probe, failure, work.relations[0], work.body)))
  if (fault !== undefined) return fault
  // A domain rejects NULL where the body has no value.
  if (error.code === '23502' && work.action === 'write') return undefined
  if (isOfRequest(failure, work)) return undefined
  const isDefined = work.action === 'write' || work.relations.some((each) => hasDefinitions(each, caller))
  return isDefined ? faultOfDefinition() : undefined
}

/** Returns whether the privileges of the login role are at fault. Only an administrator learns that. */
function isLogin({ scope, isAdministrator }: Caller): boolean {
  return isAdministrator && scope.kind === 'unrestricted'
}

/**
 * Returns whether the request is the cause although it is valid by itself: PostgreSQL cannot compare its values, or
 * would store too much.
 */
function isOfRequest({ error }: StatementFailed, { action, relations }: Work): boolean {
  const { code, where, routine = '' } = error
  if (code === '54000') return action === 'write' && storingRoutines.test(routine)
  // Rows, arrays and ranges of types without an order cannot be compared.
  return (
    code === '42883' &&
    where === undefined &&
    relations.some(({ columns }) =>
      columns.some(({ type }) => (type.attributes ?? type.element ?? type.range) !== undefined),
    )
  )
}

/** Routines of indexes and of text search vectors, which PostgreSQL computes from stored values. */
const storingRoutines = /^(?:_?bt|_?hash|brin|gin|gist|spg|index_form|make_tsvector|to_tsvector|tsvector)/i

/**
 * Returns whether a policy reads a relation that the caller may not read and that the request does not name.
 * PostgreSQL says so only in its message, which is in English unless configured otherwise.
 */
function isDeniedWithin({ error }: StatementFailed, { relations }: Work): boolean {
  const [, denied] = /^permission denied for table (.*)$/.exec(error.message) ?? []
  if (denied === undefined || !isMissingPrivilege(error)) return false
  // Citus names a table of the coordinator that references one on workers with the number of its shard.
  const names = [denied, denied.replace(/_\d{6,}$/, '')]
  // A view may be meant to read with the privileges of its caller.
  return relations.every(
    ({ name, kind }) => !names.includes(name) && (kind === 'table' || kind === 'partitioned_table'),
  )
}

/** Returns whether reading the relation evaluates the operator's definitions. */
function hasDefinitions({ kind, rlsEnabled, isBypassed, policies }: Relation, { scope }: Caller): boolean {
  if (kind !== 'table' && kind !== 'partitioned_table') return true
  if (!rlsEnabled) return false
  if (scope.kind === 'unrestricted') return !isBypassed
  return policies.some(({ isForCallers }) => scope.kind === 'anonymous' || isForCallers)
}
