import type { Queryable } from '../../../database/system-database.ts'
import type { RequestOrigin } from '../../../http/requests/request-origin.ts'
import { AppError } from '../../../lib/errors.ts'
import { createToken, hashToken } from '../../../lib/tokens.ts'
import { type AttemptLimit, requireAllowed } from '../throttle/index.ts'
import type { AssertionInput } from '../webauthn/index.ts'
import type { AdminContext, AdminDeps } from './context.ts'
import { adminErrors } from './errors.ts'
import {
  consumeSignInCode,
  findByEmail,
  findFirst,
  lockPasswordHolder,
  recordSignIn,
  type SessionProof,
} from './queries.ts'
import {
  consumePendingSignIn,
  findPendingSignIn,
  hasSecondFactor,
  insertPendingSignIn,
} from './second-factor/factors.ts'
import { type FactorMethod, proveFactor, usePasskey } from './second-factor/verify.ts'
import { type AdminSession, type SessionKeeper, startSession } from './session.ts'

/**
 * Credentials: the address and password, the password of the first administrator, the code of a one-time link, or a
 * passkey. With the token of a sign-in that waits for its second factor, they are that factor.
 */
export interface Credentials extends AssertionInput {
  readonly email?: string | undefined
  readonly password?: string | undefined
  readonly code?: string | undefined
  readonly mfa_token?: string | undefined
}

/** Sign-in that waits for a second factor, in the same form as for users. */
export interface PendingSignIn {
  readonly mfa_pending: true
  readonly mfa_token: string
}

const pendingTokenPrefix = 'basalt_pending_'
const pendingSeconds = 5 * 60

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
 * @returns the session, or a sign-in that waits for its second factor
 * @throws AppError missing_credentials, invalid_password, invalid_administrator_credentials, invalid_sign_in_code,
 * no_pending_admin_sign_in, password_sign_in_disabled, invalid_second_factor_code, second_factor_code_used, passkey_refused, too_many_requests
 */
export async function signIn(
  context: AdminContext,
  credentials: Credentials,
  keeper: SessionKeeper,
  origin: RequestOrigin,
  userAgent?: string,
): Promise<AdminSession | PendingSignIn> {
  const { email, password, code, mfa_token, challenge_id } = credentials
  const isByLink = code !== undefined && (password ?? challenge_id) === undefined
  if (mfa_token === undefined && !isByLink) requirePasswordSignIn(context)
  if (mfa_token !== undefined) {
    const attempt = { deps: context, keeper, origin, userAgent, limits: limitsOf(origin) }
    return await finishSignIn(context, attempt, mfa_token, credentials)
  }
  if (challenge_id !== undefined) {
    const limits: AttemptLimits = [[failedPasskeys, origin.address]]
    return await signInByPasskey(context, { deps: context, keeper, origin, userAgent, limits }, credentials)
  }
  if ((password ?? code) === undefined) throw adminErrors.missingCredentials('password is')
  const limits = limitsOf(origin, email)
  const attempt = { deps: context, keeper, origin, userAgent, limits }
  await requireAttempts(attempt)
  const session =
    password === undefined
      ? await signInByCode(attempt, code ?? '')
      : await signInByPassword(attempt, email, password)
  context.forgetFirstSignIn()
  const [[limit, key]] = limits
  await context.throttle.reset(limit, key)
  return session
}

/** Rejects a request that only makes sense with passwords. @throws AppError password_sign_in_disabled */
export function requirePasswordSignIn({ methods }: Pick<AdminDeps, 'methods'>): void {
  if (!methods.password) throw adminErrors.passwordSignInDisabled()
}

/** Limit of refused passkeys per network address. Guessing is hopeless, so it only protects the server from load. */
const failedPasskeys: AttemptLimit = { name: 'admin.passkeys', attempts: 100, windowSeconds: 15 * 60 }

/** Completes a sign-in by its second factor. One of several concurrent attempts succeeds. */
async function finishSignIn(
  context: AdminContext,
  attempt: Attempt,
  token: string,
  credentials: Credentials,
): Promise<AdminSession> {
  const tokenHash = hashToken(token)
  const administratorId = await findPendingSignIn(context.database, tokenHash)
  if (administratorId === undefined) throw adminErrors.noPendingAdminSignIn()
  return await proveFactor(context, administratorId, credentials, async (transaction, method) => {
    if (!(await consumePendingSignIn(transaction, tokenHash))) throw adminErrors.noPendingAdminSignIn()
    return await start(
      transaction,
      attempt,
      administratorId,
      'admin.sign_in',
      { hasSecondFactor: true },
      method,
    )
  })
}

/** Signs in by a passkey, which counts as two factors. It works while the password is locked. */
async function signInByPasskey(
  context: AdminContext,
  attempt: Attempt,
  credentials: Credentials,
): Promise<AdminSession> {
  await requireAttempts(attempt)
  try {
    return await context.database.transaction(async (transaction) => {
      const { administrator_id } = await usePasskey(context, transaction, credentials, null)
      const proof = { hasSecondFactor: true }
      return await start(transaction, attempt, administrator_id, 'admin.sign_in', proof, 'webauthn')
    })
  } catch (error) {
    if (error instanceof AppError && error.status === 401) return await failSignIn(attempt, error)
    throw error
  }
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
): Promise<AdminSession | PendingSignIn> {
  const { database, passwords } = attempt.deps
  const found = await (email === undefined ? findFirst(database) : findByEmail(database, email.trim()))
  // An unknown address takes as long as a known one.
  const isRight = await passwords.verify(password, found?.password_hash)
  const refuse =
    email === undefined ? adminErrors.invalidPassword : adminErrors.invalidAdministratorCredentials
  if (found === undefined || !isRight) return await failSignIn(attempt, refuse())
  return await database.transaction(async (transaction) => {
    if (!(await lockPasswordHolder(transaction, found))) throw refuse()
    await requireAttempts(attempt, transaction)
    return await passFirstFactor(transaction, attempt, found.id, 'admin.sign_in')
  })
}

async function signInByCode(attempt: Attempt, code: string): Promise<AdminSession | PendingSignIn> {
  const session = await attempt.deps.database.transaction(async (transaction) => {
    const found = await consumeSignInCode(transaction, hashToken(code))
    if (found === undefined) return undefined
    await requireAttempts(attempt, transaction)
    return await passFirstFactor(transaction, attempt, found.id, 'admin.sign_in_by_link')
  })
  return session ?? (await failSignIn(attempt, adminErrors.invalidSignInCode()))
}

/** Request of a sign-in, and the holder of its session. */
type Beginning = Pick<Attempt, 'keeper' | 'origin' | 'userAgent'>

/**
 * Starts a session. With a second factor enrolled, it starts a sign-in that waits for it, unless the provider has
 * reported two factors.
 */
export async function passFirstFactor(
  transaction: Queryable,
  attempt: Beginning,
  administratorId: string,
  action: string,
  proof: SessionProof = {},
): Promise<AdminSession | PendingSignIn> {
  if (proof.isMultiFactor === true || !(await hasSecondFactor(transaction, administratorId))) {
    return await start(transaction, attempt, administratorId, action, proof)
  }
  const token = createToken(pendingTokenPrefix)
  await insertPendingSignIn(transaction, administratorId, hashToken(token), pendingSeconds)
  return { mfa_pending: true, mfa_token: token }
}

/** Starts the session. The request itself has no administrator yet. */
async function start(
  transaction: Queryable,
  { keeper, origin, userAgent }: Beginning,
  administratorId: string,
  action: string,
  proof: SessionProof = {},
  factor?: FactorMethod,
): Promise<AdminSession> {
  const found = await recordSignIn(transaction, administratorId)
  const entry = {
    actor: 'admin',
    action,
    origin: { ...origin, administrator: found.email ?? undefined },
    ...(factor === undefined ? {} : { detail: { secondFactor: factor } }),
  }
  return await startSession(transaction, found, keeper, entry, userAgent, proof)
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
