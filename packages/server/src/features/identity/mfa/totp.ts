import { randomBytes } from 'node:crypto'
import { sql } from '../../../database/sql.ts'
import type { Queryable } from '../../../database/system-database.ts'
import { pendingOf, userOf } from '../../../http/access/authentication.ts'
import type { PendingIdentity } from '../../../http/access/identity.ts'
import { httpErrors } from '../../../http/errors/errors.ts'
import { ok, operation } from '../../../http/operation.ts'
import { requiredByHandler } from '../../../http/schemas.ts'
import { Type } from '../../../lib/type.ts'
import { describeTotp, findTimeStep, totpSecretBytes } from '../../operations/one-time-codes/index.ts'
import {
  type AuthenticationResponse,
  authenticationSchema,
  type Client,
  clientOf,
  messageSchema,
  requireText,
} from '../accounts/index.ts'
import { consumeChallenge, createChallenge, findChallenge } from './challenges.ts'
import type { MfaContext } from './context.ts'
import { mfaErrors } from './errors.ts'
import {
  beginFactor,
  confirmFactor,
  consumeStep,
  findFactor,
  findPendingFactor,
  resealSecret,
  type StoredFactor,
} from './factors.ts'
import { requireConfirmTry } from './lockout.ts'
import { challenge, challengeId, code, ofPendingSignIn, ofUser } from './requests.ts'
import { lockEnroller, passSecondFactor, requireEnroller, requirePassedFactor } from './second-factor.ts'

const challengeSeconds = 300

const path = '/api/auth/mfa/totp'

const enroll = operation({
  ...ofUser,
  id: 'mfa.enrollTotp',
  path: `${path}/enroll`,
  summary: 'Start to enrol an authenticator app',
  success: ok(
    Type.Object({
      factor_id: Type.String({ format: 'uuid' }),
      uri: Type.String({ description: 'URI for a QR code.' }),
      secret: Type.String({ description: 'Secret in base32. It is shown only once.' }),
    }),
  ),
  async handle(context: MfaContext, { http }) {
    const identity = userOf(http)
    requireEnabled(context)
    const { accounts, secrets } = context
    const secret = randomBytes(totpSecretBytes)
    const sealed = secrets.seal(secret, secretContext(identity.userId))
    const { user, factor } = await accounts.database.transaction(async (transaction) => {
      const user = await lockEnroller(transaction, identity)
      await requirePassedFactor(transaction, identity)
      const factor = await beginFactor(transaction, user.id, 'totp', { secret: sealed })
      if (factor === undefined) throw mfaErrors.totpEnrolled()
      return { user, factor }
    })
    const names = { issuer: accounts.appName, label: user.email ?? user.phone ?? user.id }
    return { factor_id: factor.id, ...describeTotp(secret, names) }
  },
})

const confirm = operation({
  ...ofUser,
  id: 'mfa.confirmTotp',
  path: `${path}/enroll/confirm`,
  summary: 'Confirm the authenticator app by a code',
  body: Type.Object({ code }),
  success: ok(messageSchema),
  async handle(context: MfaContext, { body, http }) {
    const identity = userOf(http)
    requireEnabled(context)
    const code = requireText(body.code, 'code')
    const { database, throttle } = context.accounts
    const user = await requireEnroller(context, identity)
    if ((await findPendingFactor(database, user.id, 'totp')) === undefined) throw mfaErrors.noTotpEnrollment()
    await requireConfirmTry(throttle, user.id)
    await database.transaction(async (transaction) => {
      await lockEnroller(transaction, identity)
      const factor = await findPendingFactor(transaction, user.id, 'totp')
      if (factor === undefined) throw mfaErrors.noTotpEnrollment()
      await requirePassedFactor(transaction, identity)
      await useCode(context, transaction, factor, code)
      if (!(await confirmFactor(transaction, factor))) throw mfaErrors.noTotpEnrollment()
    })
    return { message: 'TOTP MFA enrollment confirmed' }
  },
})

const begin = operation({
  ...ofPendingSignIn,
  id: 'mfa.challengeTotp',
  path: `${path}/challenge`,
  summary: 'Request a challenge of the authenticator app',
  success: ok(challenge),
  handle: async (context: MfaContext, { http }) => await challengeTotp(context, pendingOf(http)),
})

const verify = operation({
  ...ofPendingSignIn,
  id: 'mfa.verifyTotp',
  path: `${path}/verify`,
  summary: 'Complete the sign-in by a code of the authenticator app',
  body: Type.Object({ challenge_id: requiredByHandler(challengeId), code }),
  success: ok(authenticationSchema),
  handle: async (context: MfaContext, { body, http }) =>
    await verifyTotp(context, pendingOf(http), body, clientOf(http)),
})

export const totpOperations = [enroll, confirm, begin, verify]

/** Creates a challenge for a pending sign-in. @throws AppError totp_disabled, no_totp_factor */
export async function challengeTotp(
  context: MfaContext,
  { userId }: PendingIdentity,
): Promise<{ challenge_id: string }> {
  requireEnabled(context)
  const { database } = context.accounts
  const factor = await findFactor(database, userId, 'totp')
  if (factor?.confirmed_at == null) throw mfaErrors.noTotpFactor()
  const scope = { userId, method: 'totp', purpose: 'verify' } as const
  return { challenge_id: await createChallenge(database, scope, { lifetimeSeconds: challengeSeconds }) }
}

/**
 * Completes a pending sign-in by a code.
 *
 * @throws AppError challenge_not_found, challenge_used, invalid_totp_code, totp_code_used, too_many_mfa_failures
 */
export async function verifyTotp(
  context: MfaContext,
  pending: PendingIdentity,
  body: { challenge_id?: string | undefined; code?: string | undefined },
  client: Client,
): Promise<AuthenticationResponse> {
  requireEnabled(context)
  const challengeId = requireText(body.challenge_id, 'challenge_id')
  const code = requireText(body.code, 'code')
  const { userId } = pending
  return await passSecondFactor(context, pending, 'totp', client, async (transaction) => {
    const challenge = await findChallenge(
      transaction,
      { userId, method: 'totp', purpose: 'verify' },
      challengeId,
    )
    if (challenge?.is_used === true) throw mfaErrors.challengeUsed()
    if (challenge === undefined || challenge.is_expired) throw mfaErrors.challengeNotFound()
    const factor = await findFactor(transaction, userId, 'totp')
    if (factor?.confirmed_at == null) throw mfaErrors.noTotpFactor()
    await useCode(context, transaction, factor, code)
    if (!(await consumeChallenge(transaction, challenge.id))) throw mfaErrors.challengeUsed()
  })
}

/** Consumes the code's time step, so that the code and every earlier one is used up. */
async function useCode(
  { secrets }: MfaContext,
  transaction: Queryable,
  factor: StoredFactor,
  code: string,
): Promise<void> {
  const context = secretContext(factor.user_id)
  const secret = secrets.open(factor.secret ?? '', context)
  if (secret === undefined) {
    throw httpErrors
      .internalError()
      .with({ detail: `the TOTP secret of user ${factor.user_id} cannot be decrypted` })
  }
  // The database clock is the same for every node.
  const { now } = await transaction.one<{ now: string }>(
    sql`select floor(extract(epoch from now()) * 1000)::text as now`,
  )
  const step = findTimeStep(secret, code, Number(now))
  if (step === undefined) throw mfaErrors.invalidTotpCode()
  if (!(await consumeStep(transaction, factor.id, step))) throw mfaErrors.totpCodeUsed()
  if (secrets.isOutdated(factor.secret ?? '')) {
    await resealSecret(transaction, factor, secrets.seal(secret, context))
  }
}

function secretContext(userId: string): string {
  return `totp ${userId}`
}

function requireEnabled({ accounts }: MfaContext): void {
  if (!accounts.settings.current.totp_enabled) throw mfaErrors.totpDisabled()
}
