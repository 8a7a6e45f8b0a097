import type { FastifyRequest } from 'fastify'
import type { Queryable, SystemDatabase } from '../../../database/system-database.ts'
import { userOf } from '../../../http/access/authentication.ts'
import type { UserIdentity } from '../../../http/access/identity.ts'
import type { RequestOrigin } from '../../../http/requests/request-origin.ts'
import { recordAudit } from '../../operations/audit/index.ts'

/** Locks the caller's account until the transaction ends. @throws AppError invalid_token when its session has ended */
type LockCaller = (transaction: Queryable, caller: UserIdentity) => Promise<unknown>

export interface KeyDeps {
  readonly database: SystemDatabase
  /** Called after a change: keys in memory may be of before. */
  readonly onChange: () => void
}

export interface ApiKeyDeps extends KeyDeps {
  readonly lockCaller: LockCaller
  /** As `lockCaller`, for a new secret. @throws AppError insufficient_aal where a factor is enrolled that was not passed */
  readonly lockIssuer: LockCaller
}

/** Caller that changes keys. */
export type Administrator =
  /** Administrator of the keys of all users; changes go to the audit. */
  | { readonly actor: string; readonly origin?: RequestOrigin; readonly userId?: undefined }
  /** User with own keys. */
  | {
      readonly userId: string
      /** Locks the user's account. @throws AppError invalid_token */
      readonly lock: (transaction: Queryable) => Promise<unknown>
      readonly actor?: undefined
    }

/** Returns the caller as the administrator of own keys. */
export function ownerOf(http: FastifyRequest, lock: LockCaller) {
  const caller = userOf(http)
  return { userId: caller.userId, lock: (transaction: Queryable) => lock(transaction, caller) }
}

/** Makes a change, with the audit row of an administrator, in one transaction. */
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
