import type { CallerScope } from '../database/user-database.ts'
import { httpErrors } from './errors.ts'

/** Makes sure that a program may touch a collection. @throws AppError insufficient_scope */
export function requireTable(scope: CallerScope, collection: string): void {
  const tables = scope.kind === 'caller' ? scope.grant?.tables : undefined
  if (tables?.has(collection) === false) throw httpErrors.insufficientScope('access to this table')
}

/** Makes sure that a program may write. @throws AppError insufficient_scope */
export function requireWriteScope(scope: CallerScope): void {
  if (scope.kind === 'caller' && scope.grant?.mayWrite === false) {
    throw httpErrors.insufficientScope('write operations')
  }
}
