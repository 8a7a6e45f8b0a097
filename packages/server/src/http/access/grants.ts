import type { CallerScope } from '../../database/caller/caller-scope.ts'
import type { AppError } from '../../lib/errors.ts'
import { isStorableText } from '../../lib/storable-text.ts'
import { httpErrors } from '../errors/errors.ts'
import type { Action } from './actions.ts'
import type { AdminIdentity } from './identity.ts'
import { holds, type Permission, rolesWith } from './permissions.ts'

/**
 * Returns the error for a program that lacks a permission, with the challenge of RFC 6750 §3.1.
 *
 * @param needed the action that it lacks
 */
export function insufficientScope(scope: CallerScope, problem: string, needed?: Action): AppError {
  const credential = (scope.kind === 'caller' ? scope.grant?.credential : undefined) ?? 'access token'
  const parameter = needed === undefined ? '' : `, scope="${needed}"`
  const headers = { 'www-authenticate': `Bearer error="insufficient_scope"${parameter}` }
  return httpErrors.insufficientScope(`${credential} ${problem}`).with({ headers })
}

/** Returns the error for an administrator whose role lacks a permission. It names the roles that hold it. */
export function insufficientRole(permission: Permission): AppError {
  const roles = rolesWith(permission)
  return httpErrors.insufficientRole(roles.join(', ')).with({ data: { permission, roles } })
}

/** Rejects an administrator whose role lacks a permission. @throws AppError insufficient_role */
export function requirePermission({ role }: Pick<AdminIdentity, 'role'>, permission: Permission): void {
  if (!holds(role, permission)) throw insufficientRole(permission)
}

/** Maximum length of a reason that the audit log stores. */
const longestReason = 500

/**
 * Returns the reason of an administrator who views data as a user, without surrounding spaces.
 *
 * @throws AppError if the role `support` gives none, or if the audit log cannot store it
 */
export function readViewReason(
  { role }: Pick<AdminIdentity, 'role'>,
  reason: string | undefined,
): string | undefined {
  const text = reason?.trim() ?? ''
  if (text.length > longestReason || !isStorableText(text)) {
    throw httpErrors.invalidRequest(
      `reason: expected at most ${longestReason} characters of Unicode text without NUL`,
    )
  }
  if (text !== '') return text
  if (role !== 'support') return undefined
  throw httpErrors.invalidRequest('reason: required to view data as a user with the role support')
}

/** Rejects an administrator whose session lacks a fresh second factor. @throws AppError step_up_required */
export function requireStepUp({ secondFactor }: Pick<AdminIdentity, 'secondFactor'>): void {
  if (lacksStepUp(secondFactor)) throw httpErrors.stepUpRequired()
}

/** Returns true if the session must prove a second factor before a sensitive operation. */
export function lacksStepUp({
  isEnrolled,
  hasIdentity,
  isFresh,
}: Pick<AdminIdentity['secondFactor'], 'isEnrolled' | 'hasIdentity' | 'isFresh'>): boolean {
  return (isEnrolled || hasIdentity) && !isFresh
}

/** Rejects a program without access to the collection. @throws AppError insufficient_scope */
export function requireTable(scope: CallerScope, collection: string): void {
  const tables = scope.kind === 'caller' ? scope.grant?.tables : undefined
  if (tables?.has(collection) === false)
    throw insufficientScope(scope, `does not have access to table: ${collection}`)
}

/** Rejects a program without access to the function. @throws AppError insufficient_scope */
export function requireProcedure(scope: CallerScope, procedure: string): void {
  const tables = scope.kind === 'caller' ? scope.grant?.tables : undefined
  if (tables?.has(`rpc:${procedure}`) === false)
    throw insufficientScope(scope, `does not have access to function: ${procedure}`)
}

/**
 * Returns the error for a request without a token that has no grant. A 401 names the scheme (RFC 9110 §11.6.1).
 */
export function tokenRequired(): AppError {
  return httpErrors.missingAuthorization().with({ headers: { 'www-authenticate': 'Bearer' } })
}

/** Rejects a program that may not write. @throws AppError insufficient_scope */
export function requireWriteScope(scope: CallerScope): void {
  const refusal = refuseWrite(scope)
  if (refusal !== undefined) throw refusal
}

/** Returns the error for a program that may not write; undefined if it may. */
export function refuseWrite(scope: CallerScope): AppError | undefined {
  if (scope.kind === 'unrestricted')
    return scope.isReadOnly === true ? insufficientRole('rows.write') : undefined
  const isReadOnly = scope.kind === 'caller' && scope.grant?.mayWrite === false
  return isReadOnly ? insufficientScope(scope, 'scope does not permit write operations') : undefined
}

/** Returns the error for a program that may not take an action; undefined if it may. */
export function refuseAction(scope: CallerScope, action: Action): AppError | undefined {
  const isRefused = scope.kind === 'caller' && scope.grant?.actions.has(action) === false
  return isRefused ? insufficientScope(scope, `scope does not permit ${action}`, action) : undefined
}
