import type { FastifyRequest } from 'fastify'
import type { Queryable, SystemDatabase } from '../../../database/system-database.ts'
import { adminOf, userOf } from '../../../http/access/authentication.ts'
import { requirePermission } from '../../../http/access/grants.ts'
import type { UserIdentity } from '../../../http/access/identity.ts'
import type { AdministratorRole } from '../../../http/access/permissions.ts'
import type { RequestOrigin } from '../../../http/requests/request-origin.ts'
import { recordAudit } from '../../operations/audit/index.ts'

/**
 * Function that locks the caller's account until the transaction ends.
 *
 * @throws AppError invalid_token when the caller's session has ended
 */
type LockCaller = (transaction: Queryable, caller: UserIdentity) => Promise<unknown>

export interface KeyDeps {
  readonly database: SystemDatabase
  /** Listener that runs after a change, because cached keys may be outdated. */
  readonly onChange: () => void
}

export interface ApiKeyDeps extends KeyDeps {
  readonly lockCaller: LockCaller
  /**
   * Lock like `lockCaller`, for a new secret.
   *
   * @throws AppError insufficient_aal when the session has not passed an enrolled factor
   */
  readonly lockIssuer: LockCaller
}

/** Caller that changes keys. */
export type Administrator =
  /** Administrator of the keys of all users. Changes are written to the audit log. */
  | {
      readonly actor: string
      readonly origin?: RequestOrigin
      /** Undefined at the command line, where everything is permitted. */
      readonly role?: AdministratorRole
      readonly userId?: undefined
    }
  /** User who changes own keys. */
  | {
      readonly userId: string
      /** Locks the user's account. @throws AppError invalid_token */
      readonly lock: (transaction: Queryable) => Promise<unknown>
      readonly actor?: undefined
    }

/** Returns the caller as an administrator of all keys. */
export function administratorOf(http: FastifyRequest, origin: RequestOrigin): Administrator {
  return { actor: 'admin', origin, role: adminOf(http).role }
}

/** Rejects an administrator who may not grant actions. @throws AppError insufficient_role */
export function requireActions(by: Administrator): void {
  if (by.userId === undefined && by.role !== undefined) requirePermission({ role: by.role }, 'owner')
}

/** Returns the caller as a user who changes own keys. */
export function ownerOf(http: FastifyRequest, lock: LockCaller) {
  const caller = userOf(http)
  return { userId: caller.userId, lock: (transaction: Queryable) => lock(transaction, caller) }
}

/** Makes a change in one transaction, with an audit row if an administrator makes it. */
export async function changeKeys<Result>(
  { database, onChange }: KeyDeps,
  by: Administrator,
  work: (
    transaction: Queryable,
    record: (action: string, target: string, detail?: Readonly<Record<string, unknown>>) => Promise<void>,
  ) => Promise<Result>,
): Promise<Result> {
  const result = await database.transaction(async (transaction) => {
    if ('lock' in by) await by.lock(transaction)
    return await work(transaction, async (action, target, detail = {}) => {
      if (by.actor === undefined) return
      await recordAudit(transaction, { actor: by.actor, action, target, detail, origin: by.origin })
    })
  })
  onChange()
  return result
}
