import type { Queryable } from '../../../database/system-database.ts'
import type { PendingIdentity, UserIdentity } from '../../../http/access/identity.ts'
import { JobRefused, type JobType } from '../../../job-queue.ts'
import { MailRefused } from '../../messaging/mail/index.ts'
import { isReachable, parsePhone, parseTestNumbers, SmsRefused } from '../../messaging/sms/index.ts'
import { requireAllowed } from '../../operations/throttle/index.ts'
import {
  type AuthenticationResponse,
  accountLimits,
  type Client,
  deriveJobCode,
  findUserById,
  hashCode,
  markEmailVerified,
  requireText,
  type User,
} from '../accounts/index.ts'
import {
  type Challenge,
  type ChallengePurpose,
  consumeCode,
  countTry,
  createChallenge,
  findChallenge,
  findLatestChallenge,
  setCode,
  voidChallenges,
} from './challenges.ts'
import type { MfaContext } from './context.ts'
import { mfaErrors } from './errors.ts'
import { beginFactor, confirmFactor, findFactor, findPendingFactor } from './factors.ts'
import { requireConfirmTry } from './lockout.ts'
import { lockEnroller, passSecondFactor, requireEnroller, requirePassedFactor } from './second-factor.ts'

/** Method of codes by mail or SMS. Codes are made when they are sent, and stored as a keyed hash. */
export type SentMethod = 'email' | 'sms'

const channels = {
  email: {
    isEnabled: ({ accounts }: MfaContext) => accounts.settings.current.email_mfa_enabled,
    disabled: mfaErrors.emailMfaDisabled,
    enrolled: mfaErrors.emailMfaEnrolled,
    noEnrollment: mfaErrors.noEmailMfaEnrollment,
    noFactor: mfaErrors.noEmailMfaFactor,
    wrongCode: mfaErrors.invalidEmailMfaCode,
    expired: mfaErrors.emailMfaCodeExpired,
    lifetimeSeconds: () => 600,
    tries: () => 5,
    digits: () => 6,
    /** Returns the limit of codes that a user may be sent, including the code of the enrolment. */
    limit: () => ({ name: 'mfa.email', attempts: 3, windowSeconds: 600 }),
    limited: mfaErrors.tooManyEmailChallenges,
  },
  sms: {
    isEnabled: ({ accounts }: MfaContext) => accounts.settings.current.sms_enabled,
    disabled: mfaErrors.smsMfaDisabled,
    enrolled: mfaErrors.smsMfaEnrolled,
    noEnrollment: mfaErrors.noSmsMfaEnrollment,
    noFactor: mfaErrors.noSmsMfaFactor,
    wrongCode: mfaErrors.invalidSmsMfaCode,
    expired: mfaErrors.invalidSmsMfaCode,
    lifetimeSeconds: ({ accounts }: MfaContext) => accounts.config.sms_code_expiry,
    tries: ({ accounts }: MfaContext) => accounts.config.sms_max_attempts,
    digits: ({ accounts }: MfaContext) => accounts.config.sms_code_length,
    limit: ({ accounts }: MfaContext) => ({
      name: 'mfa.sms',
      attempts: accounts.config.limits.sms_per_hour,
      windowSeconds: 3600,
    }),
    limited: mfaErrors.tooManySmsChallenges,
  },
}
type Channel = (typeof channels)[SentMethod]

interface CodeRequest {
  readonly method: SentMethod
  readonly purpose: ChallengePurpose
  readonly challengeId: string
  readonly userId: string
}

const jobName = 'mfa.send_code'

/**
 * Starts an enrolment.
 *
 * @throws AppError of the method: disabled, enrolled, too many; invalid_phone, email_for_mfa_missing, …
 */
export async function enrollSentCode(
  context: MfaContext,
  identity: UserIdentity,
  method: SentMethod,
  newPhone?: string,
): Promise<void> {
  const channel = requireEnabled(context, method)
  const user = await requireEnroller(context, identity)
  await requirePassedFactor(context.accounts.database, identity)
  const phone = method === 'sms' ? requirePhone(context, newPhone) : undefined
  if (method === 'email' && user.email === null) throw mfaErrors.emailForMfaMissing()
  const factor = await findFactor(context.accounts.database, user.id, method)
  if (factor?.confirmed_at != null) throw channel.enrolled()
  await requireSend(context, channel, user.id)
  if (phone !== undefined) await requireEnrollmentSend(context, channel, phone)
  const { database, jobs } = context.accounts
  await database.transaction(async (transaction) => {
    await lockEnroller(transaction, identity)
    await requirePassedFactor(transaction, identity)
    const factor = await beginFactor(transaction, user.id, method, phone === undefined ? {} : { phone })
    if (factor === undefined) throw channel.enrolled()
    const scope = { userId: user.id, method, purpose: 'enroll' } as const
    await voidChallenges(transaction, scope)
    await send(context, transaction, scope, phone)
  })
  jobs.wake()
}

/** Confirms an enrolment. @throws AppError of the method: no enrolment, wrong code, expired; insufficient_aal, too_many_mfa_failures */
export async function confirmSentCode(
  context: MfaContext,
  identity: UserIdentity,
  method: SentMethod,
  body: { readonly code?: string | undefined; readonly phone?: string | undefined },
): Promise<void> {
  const channel = requireEnabled(context, method)
  const code = requireText(body.code, 'code')
  const { database, throttle } = context.accounts
  const user = await requireEnroller(context, identity)
  const scope = { userId: user.id, method, purpose: 'enroll' } as const
  const factor = await findFactor(database, user.id, method)
  const challenge = await findLatestChallenge(database, scope)
  if (factor === undefined || factor.confirmed_at !== null || challenge === undefined || challenge.is_used) {
    throw channel.noEnrollment()
  }
  // The phone may be repeated. A phone other than the one that got the code proves nothing.
  if (body.phone !== undefined && method === 'sms' && requirePhone(context, body.phone) !== factor.phone) {
    throw channel.noEnrollment()
  }
  if (challenge.is_expired) throw channel.expired()
  await requireConfirmTry(throttle, user.id)
  if (!(await countTry(database, challenge.id, channel.tries(context)))) throw channel.wrongCode()
  await database.transaction(async (transaction) => {
    await lockEnroller(transaction, identity)
    const factor = await findPendingFactor(transaction, user.id, method)
    if (factor === undefined) throw channel.noEnrollment()
    await requirePassedFactor(transaction, identity)
    await useCode(context, transaction, challenge, code, channel)
    if (!(await confirmFactor(transaction, factor))) throw channel.noEnrollment()
    // The code was sent to the account's address.
    if (method === 'email') await markEmailVerified(transaction, user.id, user.email ?? '')
  })
}

/** Sends a code for a pending sign-in. @throws AppError of the method: disabled, no factor, too many */
export async function challengeSentCode(
  context: MfaContext,
  { userId }: PendingIdentity,
  method: SentMethod,
): Promise<string> {
  const channel = requireEnabled(context, method)
  const { database, jobs } = context.accounts
  const factor = await findFactor(database, userId, method)
  if (factor?.confirmed_at == null) throw channel.noFactor()
  await requireSend(context, channel, userId)
  const id = await database.transaction((transaction) =>
    send(context, transaction, { userId, method, purpose: 'verify' }, factor.phone ?? undefined),
  )
  jobs.wake()
  return id
}

/** Completes a pending sign-in by a code. @param body without a challenge id, the latest challenge is used */
export async function verifySentCode(
  context: MfaContext,
  pending: PendingIdentity,
  method: SentMethod,
  body: { readonly challenge_id?: string | undefined; readonly code?: string | undefined },
  client: Client,
): Promise<AuthenticationResponse> {
  const channel = requireEnabled(context, method)
  const scope = { userId: pending.userId, method, purpose: 'verify' } as const
  if (method === 'email') requireText(body.challenge_id, 'challenge_id')
  const code = requireText(body.code, 'code')
  const { database } = context.accounts
  const challenge =
    body.challenge_id === undefined || body.challenge_id === ''
      ? await findLatestChallenge(database, scope)
      : await findChallenge(database, scope, body.challenge_id)
  if (challenge === undefined) throw body.challenge_id ? mfaErrors.challengeNotFound() : channel.wrongCode()
  if (challenge.is_used) throw mfaErrors.challengeUsed()
  const hasTry = await countTry(database, challenge.id, channel.tries(context))
  return await passSecondFactor(context, pending, method, client, async (transaction) => {
    const factor = await findFactor(transaction, pending.userId, method)
    if (factor?.confirmed_at == null) throw channel.noFactor()
    if (challenge.is_expired) throw channel.expired()
    if (!hasTry) throw channel.wrongCode()
    await useCode(context, transaction, challenge, code, channel)
  })
}

/** Returns the job that makes and sends a code. Every attempt makes the same one. */
export function sentCodeJob(context: MfaContext): JobType<CodeRequest> {
  return {
    name: jobName,
    retry: { attempts: 5, delay: 5, delayMax: 60, backoff: 2 },
    timeout: 60,
    async handle({ method, purpose, challengeId, userId }, { id }) {
      const { accounts } = context
      const { database, keys } = accounts
      const user = await findUserById(database, userId)
      const challenge = await findChallenge(database, { userId, method, purpose }, challengeId)
      if (user === undefined || challenge === undefined) return
      const to = method === 'sms' ? challenge.phone : user.email
      if (to === null) return
      const fixed = parseTestNumbers(accounts.config.sms_test_phone_numbers).get(to)
      const code = fixed ?? deriveJobCode(keys, id, channels[method].digits(context))
      const isStored = await setCode(database, challenge.id, hashCode(keys, 'mfa', challenge.id, code))
      if (!isStored || fixed !== undefined) return
      try {
        if (method === 'sms') await accounts.sms.send({ to, body: `Your code is: ${code}` }, { id })
        else await mailCode(context, user, purpose, code, id)
      } catch (error) {
        if (error instanceof MailRefused || error instanceof SmsRefused) throw new JobRefused(error.message)
        throw error
      }
    },
  }
}

async function mailCode(
  { accounts }: MfaContext,
  { email }: User,
  purpose: ChallengePurpose,
  code: string,
  id: string,
): Promise<void> {
  const template = purpose === 'enroll' ? 'auth.mfa_email_enroll' : 'auth.mfa_email_challenge'
  const rendered = await accounts.mail.templates.render(template, { AppName: accounts.appName, Code: code })
  await accounts.mail.backend.send({ to: email ?? '', ...rendered }, { id })
}

async function send(
  context: MfaContext,
  transaction: Queryable,
  scope: { readonly userId: string; readonly method: SentMethod; readonly purpose: ChallengePurpose },
  phone: string | undefined,
): Promise<string> {
  const lifetimeSeconds = channels[scope.method].lifetimeSeconds(context)
  const challengeId = await createChallenge(transaction, scope, {
    lifetimeSeconds,
    ...(phone === undefined ? {} : { phone }),
  })
  await context.accounts.jobs.enqueue(jobName, { ...scope, challengeId } satisfies CodeRequest, transaction)
  return challengeId
}

async function useCode(
  { accounts }: MfaContext,
  transaction: Queryable,
  challenge: Challenge,
  code: string,
  channel: Channel,
): Promise<void> {
  const codeHash = hashCode(accounts.keys, 'mfa', challenge.id, code.replace(/[\s-]/g, ''))
  const outcome = await consumeCode(transaction, challenge.id, codeHash)
  if (outcome === 'used') throw mfaErrors.challengeUsed()
  if (outcome === 'wrong') throw channel.wrongCode()
}

async function requireSend(context: MfaContext, channel: Channel, userId: string): Promise<void> {
  requireAllowed(await context.accounts.throttle.attempt(channel.limit(context), userId), channel.limited())
}

/**
 * Limits the messages that a number gets from all accounts together, before its owner is proven.
 *
 * @throws AppError too many
 */
async function requireEnrollmentSend({ accounts }: MfaContext, channel: Channel, phone: string) {
  if (parseTestNumbers(accounts.config.sms_test_phone_numbers).has(phone)) return
  const { smsToEnroll, smsDaily } = accountLimits(accounts)
  requireAllowed(await accounts.throttle.attempt(smsToEnroll, phone), channel.limited())
  requireAllowed(await accounts.throttle.attempt(smsDaily, 'all'), channel.limited())
}

function requireEnabled(context: MfaContext, method: SentMethod): Channel {
  const channel = channels[method]
  if (!channel.isEnabled(context)) throw channel.disabled()
  return channel
}

/** Returns a number in E.164 form. @throws AppError field_required, invalid_phone */
function requirePhone({ accounts }: MfaContext, number: string | undefined): string {
  const text = requireText(number?.trim(), 'phone')
  const testNumbers = parseTestNumbers(accounts.config.sms_test_phone_numbers)
  const phone = parsePhone(text, testNumbers)
  if (phone === undefined) throw mfaErrors.invalidPhone()
  const isAllowed = isReachable(phone, accounts.config.sms_allowed_countries)
  if (!isAllowed && !testNumbers.has(phone.number)) throw mfaErrors.invalidPhone()
  return phone.number
}
