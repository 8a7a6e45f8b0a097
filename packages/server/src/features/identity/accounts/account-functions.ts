import type { SystemDatabase, SystemTransaction } from '../../../database/system-database.ts'
import type { AppError } from '../../../lib/errors.ts'
import type { JsonObject } from '../../../lib/json.ts'
import { accountErrors } from './errors.ts'
import { setAppMetadata, type User } from './users.ts'

/** User as functions get it. */
export interface Account {
  readonly id: string
  readonly email: string
  readonly isEmailVerified: boolean
  readonly phone: string
  readonly isAnonymous: boolean
  readonly appMetadata: JsonObject
}

interface NewAccount extends Account, Required<Pick<SignUp, 'method' | 'provider' | 'wasAnonymous'>> {}

/** Functions of the operator that take part in sign-ups and sign-ins. */
export interface AccountFunctions {
  /** Returns true if there is such a function. @throws AppError functions_unavailable while that is unknown */
  has(kind: 'onSignUp' | 'claims'): boolean
  /**
   * Runs a transaction in which the functions may be called. The work runs again, after a rollback, once the claims that it
   * needs are known. So it must not have effects elsewhere.
   *
   * @param kinds of these functions; all by default
   * @throws AppError functions_unavailable, no_connection
   */
  transaction<Result>(
    database: SystemDatabase,
    work: (transaction: SystemTransaction) => Promise<Result>,
    kinds?: readonly ('onSignUp' | 'claims')[],
  ): Promise<Result>
  /** Returns the app_metadata of a new account; undefined for none. @throws AppError that refuses the account */
  signUp(
    transaction: SystemTransaction,
    account: NewAccount,
    requestId: string,
  ): Promise<JsonObject | undefined>
  /**
   * Returns the claims for an access token; undefined without such a function.
   *
   * @param database or a transaction of the functions, which must let the errors pass
   * @throws AppError
   */
  claims(
    database: SystemDatabase | SystemTransaction,
    account: Account,
    requestId: string,
  ): Promise<JsonObject | undefined>
  /** Returns the error of a function whose result is at fault. */
  fault(kind: 'onSignUp' | 'claims', problem: string): AppError
}

/** Functions of a server that runs none. */
export const noAccountFunctions: AccountFunctions = {
  has: () => false,
  transaction: (database, work) => database.transaction(work),
  signUp: async () => undefined,
  claims: async () => undefined,
  fault: (_kind, problem) => accountErrors.invalidAppMetadata().with({ detail: problem }),
}

/** Way in which an account is created. */
export interface SignUp {
  readonly method: 'password' | 'magic_link' | 'sms' | 'oauth' | 'anonymous' | 'admin'
  /** Provider of the method `oauth`. */
  readonly provider?: string
  readonly requestId: string
  /** True if an anonymous account becomes a permanent one. */
  readonly wasAnonymous?: boolean
}

/**
 * Admits an account that the transaction has just created, or made permanent.
 *
 * @returns the user with the app_metadata that the function sets
 * @throws AppError of the function, after which nothing may be committed
 */
export async function admitAccount(
  { functions }: { readonly functions: AccountFunctions },
  transaction: SystemTransaction,
  user: User,
  { requestId, provider = '', wasAnonymous = false, method }: SignUp,
): Promise<User> {
  const account = { ...describeAccount(user), method, provider, wasAnonymous }
  const metadata = await functions.signUp(transaction, account, requestId)
  if (metadata === undefined) return user
  const changed = await setAppMetadata(transaction, user.id, metadata).catch((error) => {
    throw error.kind === accountErrors.invalidAppMetadata().kind
      ? functions.fault('onSignUp', error.message)
      : error
  })
  if (changed === undefined)
    throw new Error('the account has been deleted by the transaction that creates it')
  return changed
}

/** Returns the user as functions get it. */
export function describeAccount(user: User): Account {
  return {
    id: user.id,
    email: user.email ?? '',
    isEmailVerified: user.email_verified_at !== null,
    phone: user.phone ?? '',
    isAnonymous: user.is_anonymous,
    appMetadata: user.app_metadata,
  }
}
