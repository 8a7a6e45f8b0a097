import type { Logger } from 'pino'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { UserIdentity } from '../../../http/access/identity.ts'
import type { RequestOrigin } from '../../../http/requests/request-origin.ts'
import { type PageRequest, readPage } from '../../../http/schemas.ts'
import { messageOf } from '../../../lib/errors.ts'
import { isStorableText } from '../../../lib/storable-text.ts'
import { isUuid } from '../../../lib/uuid.ts'
import { recordAudit } from '../../operations/audit/index.ts'
import { type AttemptLimit, requireAllowed, type Throttle } from '../../operations/throttle/index.ts'
import type { SmsConfig, SmsLimits, SmsProviderConfig } from './config.ts'
import { smsErrors } from './errors.ts'
import * as queries from './messages.ts'
import { isCountryAllowed, isPremium, parsePhone } from './phone.ts'
import type { StoredSms } from './store.ts'

export interface SmsServiceDeps {
  readonly config: SmsProviderConfig & SmsLimits
  readonly policy: SmsConfig['policy']
  readonly database: SystemDatabase
  readonly sms: StoredSms
  readonly throttle: Throttle
  /** Administrators switch text messages while the server runs. */
  readonly isEnabled: () => boolean
  readonly log: Logger
}

interface Given {
  readonly to?: string
  readonly body?: string
}

const longestBody = 1600
const day = 24 * 3600
/** Ample for notices; a stolen token cannot send without end. */
const adminLimit: AttemptLimit = { name: 'sms.send', attempts: 1000, windowSeconds: 3600 }
/** Percent of delivered messages below which something is wrong. */
const lowConversion = 10

/** Text messages of administrators and users, and what became of all of them. */
export class SmsService {
  readonly #deps: SmsServiceDeps

  constructor(deps: SmsServiceDeps) {
    this.#deps = deps
  }

  async sendAsAdmin(given: Given, origin: RequestOrigin) {
    const message = this.#requireMessage(given)
    await this.#requireAttempt(adminLimit, 'admin')
    // Before the message: what was sent must not go unrecorded.
    const { to } = message
    await recordAudit(this.#deps.database, { actor: 'admin', action: 'sms.send', target: to, origin })
    const { id, message_id, status } = await this.#send(message).catch((error: unknown) => {
      throw smsErrors.smsNotSent().with({ data: { reason: messageOf(error) }, cause: error })
    })
    return { id, message_id, status, to }
  }

  /** @throws AppError sms_sender_not_permitted and those of a message */
  async sendAsUser(given: Given, caller: UserIdentity) {
    const message = this.#requireMessage(given)
    this.#requireSender(caller)
    const { userId, appId } = caller
    await this.#requireQuota(message.to, userId || appId)
    const row = await this.#send(message, userId === '' ? undefined : userId).catch((error: unknown) => {
      // What the provider said is for the operator.
      throw smsErrors.smsNotSent().with({ cause: error })
    })
    return showOwn(row)
  }

  async list(request: PageRequest) {
    const { page, perPage, offset } = readPage(request, { size: 50, most: 200 })
    const [rows, total] = await Promise.all([
      queries.listMessages(this.#deps.database, { limit: perPage, offset }),
      queries.countMessages(this.#deps.database),
    ])
    const totalPages = Math.ceil(total.totalItems / perPage)
    return { items: rows.map(show), page, perPage, ...total, totalPages }
  }

  async listOf(userId: string, limit: number) {
    return (await queries.listMessages(this.#deps.database, { userId, limit, offset: 0 })).map(showOwn)
  }

  async get(userId: string, id: string) {
    const row = isUuid(id) ? await queries.findMessageOf(this.#deps.database, userId, id) : undefined
    if (row === undefined) throw smsErrors.smsMessageNotFound()
    return showOwn(row)
  }

  async health() {
    const rows = await queries.countOutcomes(this.#deps.database)
    const of = (name: queries.PeriodRow['period']) => {
      const { sent = 0, confirmed = 0, failed = 0 } = rows.find(({ period }) => period === name) ?? {}
      const rate = sent === 0 ? 0 : Math.round((confirmed / sent) * 1000) / 10
      return { sent, confirmed, failed, conversion_rate: rate }
    }
    const today = of('today')
    const isLow = today.sent > 0 && today.conversion_rate < lowConversion
    return {
      today,
      last_7d: of('last_7d'),
      last_30d: of('last_30d'),
      ...(isLow ? { warning: 'low conversion rate' } : {}),
    }
  }

  #requireMessage({ to = '', body = '' }: Given) {
    if (!this.#deps.isEnabled()) throw smsErrors.smsNotEnabled()
    if (to.trim() === '') throw smsErrors.missingSmsField('to')
    const phone = parsePhone(to.trim())
    if (phone === undefined) throw smsErrors.invalidPhoneNumber()
    if (!isCountryAllowed(phone.country, this.#deps.config.sms_allowed_countries)) {
      throw smsErrors.phoneCountryNotAllowed()
    }
    if (isPremium(phone)) throw smsErrors.premiumNumberNotAllowed()
    if (body.trim() === '') throw smsErrors.missingSmsField('body')
    if (Array.from(body).length > longestBody) throw smsErrors.smsBodyTooLong()
    if (!isStorableText(body)) throw smsErrors.invalidSmsBody()
    return { to: phone.number, body }
  }

  #requireSender({ keyId, isAnonymous }: UserIdentity): void {
    const { senders } = this.#deps.policy
    if (senders === 'none' || isAnonymous || (senders === 'keys' && keyId === undefined)) {
      throw smsErrors.smsSenderNotPermitted()
    }
  }

  /**
   * Counts a message of a user, whatever credential is presented, to its number, and among all. The user first: who is
   * refused there takes nothing of what others may send.
   */
  async #requireQuota(to: string, sender: string): Promise<void> {
    const { policy, config } = this.#deps
    const { messages_per_number_and_day: perNumber, messages_per_day: perDay } = policy
    const perHour = config.limits.sms_messages_per_hour
    await this.#requireAttempt({ name: 'sms.user', attempts: perHour, windowSeconds: 3600 }, sender)
    await this.#requireAttempt({ name: 'sms.number', attempts: perNumber, windowSeconds: day }, to)
    if (perDay === 0) return
    await this.#requireAttempt({ name: 'sms.day', attempts: perDay, windowSeconds: day }, 'all')
  }

  async #requireAttempt(limit: AttemptLimit, key: string): Promise<void> {
    requireAllowed(await this.#deps.throttle.attempt(limit, key), smsErrors.smsLimitReached())
  }

  /** @throws what the provider throws */
  async #send(message: { readonly to: string; readonly body: string }, userId?: string) {
    const row = await this.#deps.sms.send(message, userId).catch((error: unknown) => {
      this.#deps.log.warn({ reason: messageOf(error) }, 'failed to send a text message')
      throw error
    })
    if (row === undefined) throw new Error('a text message vanished while it was sent')
    return row
  }
}

/** A message as its sender sees it: what the provider said of a failure is for the operator. */
function showOwn(row: queries.MessageRow) {
  return { ...show(row), error_message: row.error_message === null ? null : 'the message was not delivered' }
}

function show({ recipient, created_at, updated_at, ...row }: queries.MessageRow) {
  return {
    id: row.id,
    user_id: row.user_id,
    to: recipient,
    body: row.body,
    provider: row.provider,
    message_id: row.message_id,
    status: row.status,
    error_message: row.error_message,
    created_at: created_at.toISOString(),
    updated_at: updated_at.toISOString(),
  }
}
