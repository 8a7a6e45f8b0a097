import type { Queryable } from '../../../database/system-database.ts'
import type { RequestOrigin } from '../../../http/requests/request-origin.ts'
import type { AppError } from '../../../lib/errors.ts'
import { hashToken } from '../../../lib/tokens.ts'
import { type AttemptLimit, requireAllowed } from '../throttle/index.ts'
import type { AdminDeps } from './context.ts'
import { adminErrors } from './errors.ts'
import { consumeSignInCode, findByEmail, findFirst, recordSignIn } from './queries.ts'
import { type AdminSession, type SessionKeeper, startSession } from './session.ts'

/** Credentials: the address and password, the password of the first administrator, or the code of a one-time link. */
export interface Credentials {
  readonly email?: string | undefined
  readonly password?: string | undefined
  readonly code?: string | undefined
}

/** Limit of failures per administrator and network address. */
const failedSignIns: AttemptLimit = { name: 'admin.sign_in', attempts: 10, windowSeconds: 15 * 60 }
/** Limit of failures by addresses of administrators per network address. */
const failuresOfNetwork: AttemptLimit = {
  name: 'admin.sign_in_network',
  attempts: 100,
  windowSeconds: 15 * 60,
}

/**
 * Signs in. A success clears the failures of the address.
 *
 * @throws AppError missing_credentials, invalid_password, invalid_administrator_credentials, invalid_sign_in_code, too_many_requests
 */
export async function signIn(
  deps: AdminDeps,
  { email, password, code }: Credentials,
  keeper: SessionKeeper,
  origin: RequestOrigin,
  userAgent?: string,
): Promise<AdminSession> {
  if ((password ?? code) === undefined) throw adminErrors.missingCredentials()
  const limits = limitsOf(origin, email)
  const attempt = { deps, keeper, origin, userAgent, limits }
  await requireAttempts(attempt)
  const session =
    password === undefined
      ? await signInByCode(attempt, code ?? '')
      : await signInByPassword(attempt, email, password)
  deps.forgetFirstSignIn()
  const [[limit, key]] = limits
  await deps.throttle.reset(limit, key)
  return session
}

interface Attempt {
  readonly deps: AdminDeps
  readonly keeper: SessionKeeper
  readonly origin: RequestOrigin
  readonly userAgent: string | undefined
  readonly limits: AttemptLimits
}

/** Limits of failures, each with the key that it counts by. The first one is cleared by a success. */
type AttemptLimits = readonly [
  readonly [AttemptLimit, string],
  ...(readonly (readonly [AttemptLimit, string])[]),
]

/** Returns the limits of failures: ten lock one administrator for one network address, a hundred the network address. */
export function limitsOf({ address }: RequestOrigin, administrator?: string): AttemptLimits {
  if (administrator === undefined) return [[failedSignIns, address]]
  return [
    [failedSignIns, `${address} ${administrator.trim().toLowerCase()}`],
    [failuresOfNetwork, address],
  ]
}

async function signInByPassword(
  attempt: Attempt,
  email: string | undefined,
  password: string,
): Promise<AdminSession> {
  const { database, passwords } = attempt.deps
  const found = await (email === undefined ? findFirst(database) : findByEmail(database, email.trim()))
  // An unknown address takes as long as a known one.
  const isRight = await passwords.verify(password, found?.password_hash)
  const refuse =
    email === undefined ? adminErrors.invalidPassword : adminErrors.invalidAdministratorCredentials
  if (found === undefined || !isRight) return await failSignIn(attempt, refuse())
  return await database.transaction(async (transaction) => {
    if (!(await recordSignIn(transaction, found))) throw refuse()
    await requireAttempts(attempt, transaction)
    return await start(transaction, attempt, found, 'admin.sign_in')
  })
}

async function signInByCode(attempt: Attempt, code: string): Promise<AdminSession> {
  const session = await attempt.deps.database.transaction(async (transaction) => {
    const found = await consumeSignInCode(transaction, hashToken(code))
    if (found === undefined) return undefined
    await requireAttempts(attempt, transaction)
    return await start(transaction, attempt, found, 'admin.sign_in_by_link')
  })
  return session ?? (await failSignIn(attempt, adminErrors.invalidSignInCode()))
}

/** Starts the session. The request itself has no administrator yet. */
async function start(
  transaction: Queryable,
  { keeper, origin, userAgent }: Attempt,
  found: { readonly id: string; readonly email: string | null; readonly is_first: boolean | null },
  action: string,
): Promise<AdminSession> {
  const entry = { actor: 'admin', action, origin: { ...origin, administrator: found.email ?? undefined } }
  return await startSession(transaction, found, keeper, entry, userAgent)
}

export async function requireAttempts(
  { deps: { throttle }, limits }: Pick<Attempt, 'deps' | 'limits'>,
  transaction?: Queryable,
): Promise<void> {
  for (const [limit, key] of limits) requireAllowed(await throttle.check(limit, key, transaction))
}

/** Counts the failure. Beyond the limit, the response is the same for a right and a wrong password. */
export async function failSignIn(
  { deps: { throttle }, limits }: Pick<Attempt, 'deps' | 'limits'>,
  error: AppError,
): Promise<never> {
  for (const [limit, key] of limits) requireAllowed(await throttle.attempt(limit, key))
  throw error
}
