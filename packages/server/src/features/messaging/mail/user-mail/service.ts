import { randomUUID } from 'node:crypto'
import type { Logger } from 'pino'
import type { SystemDatabase } from '../../../../database/system-database.ts'
import type { UserIdentity } from '../../../../http/access/identity.ts'
import { normalizeEmail } from '../../../../lib/email-address.ts'
import { messageOf } from '../../../../lib/errors.ts'
import { parseSender } from '../../../../lib/mail-sender.ts'
import { suggestion } from '../../../../lib/suggestion.ts'
import { requireAllowed, type Throttle } from '../../../operations/throttle/index.ts'
import type { MailBackend } from '../backend.ts'
import type { EmailConfig } from '../config.ts'
import { mailErrors } from '../errors.ts'
import { MailRefused } from '../refusal.ts'
import { systemTemplatePrefix } from '../template-key.ts'
import type { MailTemplates } from '../templates.ts'
import { compose, type MailContent } from './compose.ts'
import * as queries from './queries.ts'

export interface UserMailDeps {
  readonly config: EmailConfig
  readonly isDevelopment: boolean
  readonly database: SystemDatabase
  readonly templates: MailTemplates
  readonly backend: MailBackend
  readonly throttle: Throttle
  readonly log: Logger
}

const members = [
  'to',
  'from',
  'subject',
  'html',
  'text',
  'templateKey',
  'variables',
] as const satisfies (keyof UserMailRequest)[]

export interface UserMailRequest extends MailContent {
  readonly to?: string | readonly string[]
  readonly from?: string
}

/** Mail of users and programs. */
export class UserMail {
  readonly #deps: UserMailDeps

  constructor(deps: UserMailDeps) {
    this.#deps = deps
  }

  /**
   * Sends each recipient a mail of its own.
   *
   * @throws AppError mail_sender_not_permitted, system_template_not_permitted, from_address_not_allowed, invalid_recipient, mail_not_configured,
   * too_many_recipients, mail_limit_reached and those of {@link compose}; what the backend does not take is in the answer
   */
  async send(request: UserMailRequest, caller: UserIdentity) {
    const { config, isDevelopment, templates, database } = this.#deps
    this.#requirePermitted(caller)
    requireKnownMembers(request)
    requireOwnTemplate(request.templateKey)
    const recipients = readRecipients(request.to, config.policy.max_recipients_per_request)
    const from = this.#readFrom(request.from)
    const mail = await compose(request, templates)
    // The log shows mail to developers; elsewhere it would only be lost.
    if (config.backend === 'log' && !isDevelopment) throw mailErrors.mailNotConfigured()
    // Whatever credential the user presents. Programs of one app that act for no user share a limit.
    await this.#requireAttempts(caller.userId || caller.appId, recipients.length)
    const ids = recipients.map(() => randomUUID())
    // Before they are sent: no mail leaves without a row, whatever stops the process.
    await queries.insertMails(database, {
      ids,
      recipients,
      userId: caller.userId === '' ? null : caller.userId,
      keyId: caller.keyId,
      sender: from ?? config.from,
      subject: mail.subject,
      templateKey: request.templateKey,
    })
    const outcomes = await Promise.all(
      recipients.map(async (to, index) => {
        const id = ids[index] ?? ''
        const message = { to, ...mail, ...(from === undefined ? {} : { from }) }
        return { id, to, ...(await this.#attempt(message, id)) }
      }),
    )
    await queries.recordOutcomes(database, outcomes)
    const errors = outcomes.flatMap(({ to, error }) => (error === undefined ? [] : [{ to, error }]))
    return { sent: outcomes.length - errors.length, failed: errors.length, errors }
  }

  async list(userId: string | undefined, range: { readonly limit: number; readonly offset: number }) {
    const rows = await queries.listMails(this.#deps.database, userId, range)
    const items = rows.map(({ sender, recipient, created_at, ...row }) => ({
      ...row,
      from: sender,
      to: recipient,
      created_at: created_at.toISOString(),
    }))
    return { items, count: items.length, ...range }
  }

  #requirePermitted({ keyId, isAnonymous }: UserIdentity): void {
    const { senders } = this.#deps.config.policy
    if (senders === 'none' || isAnonymous || (senders === 'keys' && keyId === undefined)) {
      throw mailErrors.mailSenderNotPermitted()
    }
  }

  /** Undefined: the usual sender. */
  #readFrom(given: string | undefined): string | undefined {
    const { from, policy } = this.#deps.config
    if (given === undefined) return undefined
    const address = /\p{Cc}/u.test(given) ? undefined : normalizeEmail(parseSender(given).address)
    const allowed = [parseSender(from).address, ...policy.allowed_from_addresses].map(normalizeEmail)
    if (address === undefined || !allowed.includes(address)) throw mailErrors.fromAddressNotAllowed()
    return given.trim()
  }

  async #requireAttempts(key: string, count: number): Promise<void> {
    const { send_rate_limit_per_key: attempts, send_rate_limit_window: windowSeconds } =
      this.#deps.config.policy
    const limit = { name: 'mail.user', attempts, windowSeconds }
    requireAllowed(await this.#deps.throttle.attempt(limit, key, count), mailErrors.mailLimitReached())
  }

  /** Callers learn whether another attempt makes sense; what the backend said is for the operator. */
  async #attempt(message: Parameters<MailBackend['send']>[0], id: string) {
    try {
      await this.#deps.backend.send(message, { id })
      return { reason: undefined, error: undefined }
    } catch (error) {
      const reason = messageOf(error)
      this.#deps.log.warn({ id, reason }, 'failed to send a mail of a user')
      return { reason, error: error instanceof MailRefused ? 'the mail was refused' : 'failed to send email' }
    }
  }
}

/** Normalized, each once. */
function readRecipients(given: UserMailRequest['to'], most: number): string[] {
  const list = typeof given === 'string' ? [given] : (given ?? [])
  if (list.every((address) => address.trim() === '')) throw mailErrors.missingTemplateField('to')
  if (list.length > most) throw mailErrors.tooManyRecipients(most)
  const addresses = list.map((text) => {
    const address = normalizeEmail(text)
    if (address === undefined) throw mailErrors.invalidRecipient().with({ data: { to: text } })
    return address
  })
  return [...new Set(addresses)]
}

/** A misspelled `html` would be left out of the mail without notice. @throws AppError invalid_mail_field */
function requireKnownMembers(request: object): void {
  const unknown = Object.keys(request).find((name) => !members.some((known) => known === name))
  if (unknown !== undefined) {
    throw mailErrors.invalidMailField(`unknown member "${unknown}"${suggestion(unknown, members)}`)
  }
}

/** A mail of the system is believed: with an address of the sender's own in it, it would take accounts. */
function requireOwnTemplate(key: string | undefined): void {
  if (key?.startsWith(systemTemplatePrefix) === true) throw mailErrors.systemTemplateNotPermitted()
}
