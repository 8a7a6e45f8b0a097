import type { Logger } from 'pino'
import type { SystemDatabase } from '../../../database/system-database.ts'
import { userOf } from '../../../http/access/authentication.ts'
import type { UserIdentity } from '../../../http/access/identity.ts'
import { created, ok, operation } from '../../../http/operation.ts'
import { checkedByHandler, choice, nullable, requiredByHandler, textForm } from '../../../http/schemas.ts'
import { messageOf } from '../../../lib/errors.ts'
import { isStorableText } from '../../../lib/storable-text.ts'
import { type Static, Type } from '../../../lib/type.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import { type AttemptLimit, requireAllowed, type Throttle } from '../../operations/throttle/index.ts'
import type { SmsConfig, SmsLimits, SmsProviderConfig } from './config.ts'
import { smsErrors } from './errors.ts'
import { SmsMessage, withoutReason } from './message.ts'
import { isCountryAllowed, isPremium, parsePhone } from './phone.ts'
import { smsStatuses } from './statuses.ts'
import type { StoredSms } from './store.ts'

export interface SendDeps {
  readonly config: SmsProviderConfig & SmsLimits
  readonly policy: SmsConfig['policy']
  readonly database: SystemDatabase
  readonly sms: StoredSms
  readonly throttle: Throttle
  /** Returns whether text messages are enabled, which administrators change at run time. */
  readonly isEnabled: () => boolean
  readonly log: Logger
}

const longestBody = 1600
const day = 24 * 3600
/** Limit of administrators, ample for notices. It bounds the damage of a stolen token. */
const adminLimit: AttemptLimit = { name: 'sms.send', attempts: 1000, windowSeconds: 3600 }

// The handler checks first whether text messages are enabled, then the number, then the text.
const NewMessage = Type.Object({
  to: requiredByHandler(
    checkedByHandler({ format: 'phone' }, Type.String({ description: 'Number in international form.' })),
  ),
  body: requiredByHandler(checkedByHandler({ maxLength: longestBody, pattern: textForm }, Type.String())),
})

const sendOwn = operation({
  id: 'sms.sendOwn',
  guard: 'bearer',
  programs: 'sms:send',
  method: 'POST',
  path: '/api/messaging/sms/send',
  tag: 'sms',
  summary: 'Send a text message',
  description: '`sms.policy.senders` names the allowed senders. Programs need the action `sms:send`.',
  body: NewMessage,
  success: created(SmsMessage),
  async handle(deps: SendDeps, { body, http }) {
    const caller = userOf(http)
    const { userId, appId } = caller
    const message = requireMessage(deps, body)
    requireSender(deps, caller)
    await requireQuota(deps, message.to, userId || appId)
    const sent = await send(deps, message, userId === '' ? undefined : userId).catch((error: unknown) => {
      // The provider's text is for the operator.
      throw smsErrors.smsNotSent().with({ cause: error })
    })
    return withoutReason(sent)
  },
})

const sendAsAdmin = operation({
  id: 'sms.send',
  guard: 'admin',
  permission: 'content.write',
  method: 'POST',
  path: '/api/admin/sms/send',
  tag: 'sms',
  summary: 'Send a text message',
  body: NewMessage,
  success: ok(
    Type.Object({
      id: Type.String({ format: 'uuid' }),
      message_id: nullable(Type.String(), { description: 'Id at the provider.' }),
      status: choice(smsStatuses),
      to: Type.String(),
    }),
  ),
  async handle(deps: SendDeps, { body, origin }) {
    const message = requireMessage(deps, body)
    const { to } = message
    await requireAttempt(deps, adminLimit, 'admin')
    // The audit row is written before the message is sent, so that no sent message goes unrecorded.
    await recordAudit(deps.database, { actor: 'admin', action: 'sms.send', target: to, origin })
    const { id, message_id, status } = await send(deps, message).catch((error: unknown) => {
      throw smsErrors.smsNotSent().with({ data: { reason: messageOf(error) }, cause: error })
    })
    return { id, message_id, status, to }
  },
})

/** Operations that send text messages, for users, programs and administrators. */
export const sendOperations = [sendOwn, sendAsAdmin]

function requireMessage({ isEnabled, config }: SendDeps, { to = '', body = '' }: Static<typeof NewMessage>) {
  if (!isEnabled()) throw smsErrors.smsNotEnabled()
  if (to.trim() === '') throw smsErrors.missingSmsField('to')
  const phone = parsePhone(to.trim())
  if (phone === undefined) throw smsErrors.invalidPhoneNumber()
  if (!isCountryAllowed(phone.country, config.sms_allowed_countries)) {
    throw smsErrors.phoneCountryNotAllowed()
  }
  if (isPremium(phone)) throw smsErrors.premiumNumberNotAllowed()
  if (body.trim() === '') throw smsErrors.missingSmsField('body')
  if (Array.from(body).length > longestBody) throw smsErrors.smsBodyTooLong()
  if (!isStorableText(body)) throw smsErrors.invalidSmsBody()
  return { to: phone.number, body }
}

function requireSender({ policy: { senders } }: SendDeps, { keyId, isAnonymous }: UserIdentity): void {
  if (senders === 'none' || isAnonymous || (senders === 'keys' && keyId === undefined)) {
    throw smsErrors.smsSenderNotPermitted()
  }
}

/**
 * Counts a message by its user, with any credential, by its number, and by day. The user is counted first, so
 * that a rejected user uses nothing of the limits of others.
 */
async function requireQuota(deps: SendDeps, to: string, sender: string): Promise<void> {
  const { messages_per_number_and_day: perNumber, messages_per_day: perDay } = deps.policy
  const perHour = deps.config.limits.sms_messages_per_hour
  await requireAttempt(deps, { name: 'sms.user', attempts: perHour, windowSeconds: 3600 }, sender)
  await requireAttempt(deps, { name: 'sms.number', attempts: perNumber, windowSeconds: day }, to)
  if (perDay === 0) return
  await requireAttempt(deps, { name: 'sms.day', attempts: perDay, windowSeconds: day }, 'all')
}

async function requireAttempt({ throttle }: SendDeps, limit: AttemptLimit, key: string): Promise<void> {
  requireAllowed(await throttle.attempt(limit, key), smsErrors.smsLimitReached())
}

/** Sends a message. @throws the error of the provider */
async function send(
  { sms, log }: SendDeps,
  message: ReturnType<typeof requireMessage>,
  userId?: string,
): Promise<SmsMessage> {
  const sent = await sms.send(message, userId).catch((error: unknown) => {
    log.warn({ reason: messageOf(error) }, 'failed to send a text message')
    throw error
  })
  if (sent === undefined) throw new Error('a text message vanished while it was sent')
  return sent
}
