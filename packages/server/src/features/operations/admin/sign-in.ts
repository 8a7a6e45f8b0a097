import type { Queryable } from '../../../database/system-database.ts'
import type { RequestOrigin } from '../../../http/requests/request-origin.ts'
import type { AppError } from '../../../lib/errors.ts'
import { hashToken } from '../../../lib/tokens.ts'
import { type AttemptLimit, requireAllowed } from '../throttle/index.ts'
import type { AdminDeps } from './context.ts'
import { adminErrors } from './errors.ts'
import { consumeSignInCode, findPasswordHash, holdPasswordHash } from './queries.ts'
import { type AdminSession, type SessionKeeper, startSession } from './session.ts'

/** Credentials: the password, or the code of a one-time link. */
export interface Credentials {
  readonly password?: string | undefined
  readonly code?: string | undefined
}

/** Limit of failures per address. */
const failedSignIns: AttemptLimit = { name: 'admin.sign_in', attempts: 10, windowSeconds: 15 * 60 }

/**
 * Signs in. A success clears the failures of the address.
 *
 * @throws AppError missing_credentials, invalid_password, invalid_sign_in_code, too_many_requests
 */
export async function signIn(
  deps: AdminDeps,
  { password, code }: Credentials,
  keeper: SessionKeeper,
  origin: RequestOrigin,
): Promise<AdminSession> {
  if ((password ?? code) === undefined) throw adminErrors.missingCredentials()
  await requireAttempts(deps, origin)
  const session =
    password === undefined
      ? await signInByCode(deps, code ?? '', keeper, origin)
      : await signInByPassword(deps, password, keeper, origin)
  deps.forgetFirstSignIn()
  await deps.throttle.reset(failedSignIns, origin.address)
  return session
}

async function signInByPassword(
  deps: AdminDeps,
  password: string,
  keeper: SessionKeeper,
  origin: RequestOrigin,
): Promise<AdminSession> {
  const { database, passwords } = deps
  const hash = await findPasswordHash(database)
  if (hash === undefined || !(await passwords.verify(password, hash))) {
    return await failSignIn(deps, origin, adminErrors.invalidPassword())
  }
  return await database.transaction(async (transaction) => {
    if (!(await holdPasswordHash(transaction, hash))) throw adminErrors.invalidPassword()
    await requireAttempts(deps, origin, transaction)
    return await startSession(transaction, keeper, { actor: 'admin', action: 'admin.sign_in', origin })
  })
}

async function signInByCode(
  deps: AdminDeps,
  code: string,
  keeper: SessionKeeper,
  origin: RequestOrigin,
): Promise<AdminSession> {
  const session = await deps.database.transaction(async (transaction) => {
    if (!(await consumeSignInCode(transaction, hashToken(code)))) return undefined
    await requireAttempts(deps, origin, transaction)
    const entry = { actor: 'admin', action: 'admin.sign_in_by_link', origin }
    return await startSession(transaction, keeper, entry)
  })
  return session ?? (await failSignIn(deps, origin, adminErrors.invalidSignInCode()))
}

async function requireAttempts(
  { throttle }: AdminDeps,
  { address }: RequestOrigin,
  transaction?: Queryable,
): Promise<void> {
  requireAllowed(await throttle.check(failedSignIns, address, transaction))
}

/** Counts the failure. Beyond the limit, the response is the same for a right and a wrong password. */
async function failSignIn(
  { throttle }: AdminDeps,
  { address }: RequestOrigin,
  error: AppError,
): Promise<never> {
  requireAllowed(await throttle.attempt(failedSignIns, address))
  throw error
}
