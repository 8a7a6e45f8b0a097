import type { SystemTransaction } from '../../../../../database/system-database.ts'
import { httpErrors } from '../../../../../http/errors/errors.ts'
import { ok, operation } from '../../../../../http/operation.ts'
import { Message } from '../../../../../http/schemas.ts'
import { JobRefused, type JobType } from '../../../../../job-queue.ts'
import { type Static, Type } from '../../../../../lib/type.ts'
import { isReachable, parsePhone, parseTestNumbers, SmsRefused } from '../../../../messaging/sms/index.ts'
import { captchaHeaders, captchaOf } from '../../../captcha/index.ts'
import { admitAccount } from '../../account-functions.ts'
import type { AccountContext } from '../../context.ts'
import { requireText, text } from '../../credentials.ts'
import { accountErrors } from '../../errors.ts'
import { deriveJobCode, hashCode } from '../../keys.ts'
import { accountLimits, requireAttempt } from '../../limits.ts'
import { type Client, clientOf } from '../../sessions/sessions.ts'
import {
  type Authentication,
  AuthenticationOrPending,
  finishFirstFactor,
  type PendingAuthentication,
} from '../../sign-in.ts'
import { insertUser, lockUserByPhone, type User } from '../../users.ts'
import { consumePhoneCode, countPhoneCodeAttempt, issuePhoneCode } from './phone-codes.ts'

const jobName = 'accounts.send_sms_code'
/** Purpose that the hash of a code is bound to. */
const purpose = 'sign_in'

interface CodeRequest {
  /** Number in E.164 form. */
  readonly phone: string
}

const phone = text('International form, such as +12025550123.', 64, { format: 'phone' })
const receivedCode = Type.Object({ phone, code: text('Digits.', 64) })

export const requestSmsCodeOperation = operation({
  guard: 'public',
  tag: 'accounts',
  id: 'accounts.requestSmsCode',
  method: 'POST',
  path: '/api/auth/sms',
  summary: 'Request a code by SMS',
  description: 'The response is the same for every number.',
  headers: captchaHeaders,
  body: Type.Object({ phone }),
  success: ok(Message),
  async handle(context: AccountContext, { body, http, origin }) {
    await requestSmsCode(context, body.phone, origin.address, captchaOf(http))
    return { message: 'if valid, a verification code has been sent' }
  },
})

export const confirmSmsCodeOperation = operation({
  guard: 'public',
  tag: 'accounts',
  id: 'accounts.confirmSmsCode',
  method: 'POST',
  path: '/api/auth/sms/confirm',
  summary: 'Sign in by a code from SMS',
  body: receivedCode,
  success: ok(AuthenticationOrPending),
  handle: (context: AccountContext, { body, http, origin }) =>
    confirmSmsCode(context, body, clientOf(http), origin.address),
})

/**
 * Requests a code. The response is the same for every text. It reveals neither whether the number has an
 * account nor whether a message was sent.
 *
 * @param captcha response of the captcha
 * @throws AppError sms_disabled, captcha_required, captcha_failed, field_required, too_many_requests
 */
export async function requestSmsCode(
  context: AccountContext,
  number: string | undefined,
  address: string,
  captcha: string | undefined,
): Promise<void> {
  const { config, throttle, database, jobs, keys, log } = context
  requireEnabled(context)
  await context.captcha.require('sms', captcha, address)
  const limits = accountLimits(context)
  const text = requireText(number?.trim(), 'phone')
  await requireAttempt(throttle, limits.smsFromAddress, address)
  const testNumbers = parseTestNumbers(config.sms_test_phone_numbers)
  const phone = parsePhone(text, testNumbers)
  if (phone === undefined) return
  const fixed = testNumbers.get(phone.number)
  if (fixed !== undefined) {
    const codeHash = hashCode(keys, purpose, phone.number, fixed)
    const code = { phone: phone.number, codeHash, lifetimeSeconds: config.sms_code_expiry }
    await database.transaction((transaction) => issuePhoneCode(transaction, code))
    return
  }
  if (!isReachable(phone, config.sms_allowed_countries)) {
    log.info(
      { country: phone.country },
      'text message not sent: auth.sms_allowed_countries lacks the country, or the number is in a premium range',
    )
    return
  }
  if (!(await throttle.attempt(limits.smsTo, phone.number)).isAllowed) return
  if (!(await throttle.attempt(limits.smsDaily, 'all')).isAllowed) return
  await jobs.enqueue(jobName, { phone: phone.number } satisfies CodeRequest)
}

/** Defines the job that makes and sends the code, so that no queue holds it. Every attempt makes the same code. */
export function smsCodeJob(context: AccountContext): JobType<CodeRequest> {
  return {
    name: jobName,
    retry: { attempts: 3, delay: 5, delayMax: 60, backoff: 2 },
    timeout: 30,
    async handle({ phone }, { id }) {
      const { config, database, keys, sms } = context
      const code = deriveJobCode(keys, id, config.sms_code_length)
      const codeHash = hashCode(keys, purpose, phone, code)
      const issue = { id, phone, codeHash, lifetimeSeconds: config.sms_code_expiry }
      if (!(await database.transaction((transaction) => issuePhoneCode(transaction, issue)))) return
      try {
        await sms.send({ to: phone, body: `Your code is: ${code}` }, { id })
      } catch (error) {
        if (error instanceof SmsRefused) throw new JobRefused(error.message)
        throw error
      }
    },
  }
}

/**
 * Signs in by a code and creates the account when the number has none.
 *
 * @throws AppError sms_disabled, field_required, invalid_sms_code, too_many_requests
 */
export async function confirmSmsCode(
  context: AccountContext,
  body: Static<typeof receivedCode>,
  client: Client,
  address: string,
): Promise<Authentication | PendingAuthentication> {
  const { config, database, throttle, keys, functions } = context
  requireEnabled(context)
  const text = requireText(body.phone?.trim(), 'phone')
  const code = requireText(body.code?.trim(), 'code')
  const phone = parsePhone(text, parseTestNumbers(config.sms_test_phone_numbers))?.number
  if (phone === undefined) throw accountErrors.invalidSmsCode()
  await requireAttempt(throttle, accountLimits(context).codeFromAddress, address)
  // The attempt is counted and committed before the code is checked, so that concurrent attempts cannot all slip
  // through.
  if (!(await countPhoneCodeAttempt(database, phone, config.sms_max_attempts))) {
    throw accountErrors.invalidSmsCode()
  }
  const response = await functions.transaction(database, async (transaction) => {
    const codeHash = hashCode(keys, purpose, phone, code)
    if (!(await consumePhoneCode(transaction, phone, codeHash))) throw accountErrors.invalidSmsCode()
    const user =
      (await lockUserByPhone(transaction, phone)) ??
      (await createByPhone(context, transaction, phone, client.requestId)) ??
      (await lockUserByPhone(transaction, phone))
    if (user === undefined) throw httpErrors.internalError()
    const session = await finishFirstFactor(context, transaction, user, 'sms', client)
    if (session === undefined) throw accountErrors.invalidSmsCode()
    return session
  })
  await throttle.release(accountLimits(context).codeFromAddress, address)
  return response
}

async function createByPhone(
  context: AccountContext,
  transaction: SystemTransaction,
  phone: string,
  requestId: string,
): Promise<User | undefined> {
  const user = await insertUser(transaction, { phone })
  return user && (await admitAccount(context, transaction, user, { method: 'sms', requestId }))
}

function requireEnabled({ settings }: AccountContext): void {
  if (!settings.current.sms_enabled) throw accountErrors.smsDisabled()
}
