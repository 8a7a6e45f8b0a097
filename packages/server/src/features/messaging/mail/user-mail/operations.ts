import { randomUUID } from 'node:crypto'
import { userOf } from '../../../../http/access/authentication.ts'
import type { UserIdentity } from '../../../../http/access/identity.ts'
import { ok, operation } from '../../../../http/operation.ts'
import {
  instantParameter,
  limitParameter,
  offsetParameter,
  readTimeRange,
  readUuid,
} from '../../../../http/requests/filters.ts'
import { bodyOf, exactlyOne, lineForm, offsetPageOf, textForm } from '../../../../http/schemas.ts'
import { normalizeEmail } from '../../../../lib/email-address.ts'
import { messageOf } from '../../../../lib/errors.ts'
import { parseSender } from '../../../../lib/mail-sender.ts'
import { suggestion } from '../../../../lib/suggestion.ts'
import { type Static, Type } from '../../../../lib/type.ts'
import { requireAllowed } from '../../../operations/throttle/index.ts'
import type { MailMessage } from '../backend.ts'
import type { EmailConfig } from '../config.ts'
import { mailErrors } from '../errors.ts'
import type { MailFunction } from '../function-backend.ts'
import { bodyLimit, type MailDeps, variables } from '../operations.ts'
import { htmlLimit, subjectLimit, textLimit } from '../parse-template.ts'
import { MailRefused } from '../refusal.ts'
import { systemTemplatePrefix, templateKeyForm } from '../template-key.ts'
import { compose } from './compose.ts'
import { insertMails, listMails, recordOutcomes, SentMail } from './sent-mail.ts'

export interface UserMailDeps extends MailDeps {
  readonly config: EmailConfig
  readonly isDevelopment: boolean
  readonly mailFunction: MailFunction
}

const address = Type.String({ format: 'email' })
const documentedMail = Type.Object(
  {
    to: Type.Union([address, Type.Array(address, { minItems: 1 })], {
      description: 'One address, or a list of at most `email.policy.max_recipients_per_request`.',
    }),
    from: Type.Optional(
      Type.String({
        description: 'Sender: the address of `email.from` or of `email.policy.allowed_from_addresses`.',
      }),
    ),
    subject: Type.Optional(Type.String({ maxLength: subjectLimit, pattern: lineForm })),
    html: Type.Optional(Type.String({ maxLength: htmlLimit, pattern: textForm })),
    text: Type.Optional(Type.String({ maxLength: textLimit, pattern: textForm })),
    templateKey: Type.Optional(Type.String({ pattern: templateKeyForm })),
    variables,
  },
  {
    additionalProperties: false,
    dependentRequired: { variables: ['templateKey'] },
    ...exactlyOne(
      { required: ['templateKey'] },
      { required: ['subject'], anyOf: [{ required: ['html'] }, { required: ['text'] }] },
    ),
  },
)

// The permission to send is checked before the members.
export const UserMail = Type.Partial(
  Type.Object({
    to: Type.Union([Type.String(), Type.Array(Type.String())]),
    from: Type.String(),
    subject: Type.String(),
    html: Type.String(),
    text: Type.String(),
    templateKey: Type.String(),
    variables: Type.Record(Type.String(), Type.String()),
  }),
)
export type UserMail = Static<typeof UserMail>
const members = Object.keys(UserMail.properties)

const sendOwn = operation({
  id: 'mail.sendOwn',
  guard: 'bearer',
  programs: 'email:send',
  method: 'POST',
  path: '/api/email/send',
  tag: 'mail',
  summary: 'Send a mail to one or several recipients',
  description:
    'Each recipient gets a mail of its own. Send either `templateKey` with `variables`, or `subject` with `html`, `text` or both. A missing `html` or `text` is made from the other. Programs need the action `email:send`. System templates (`auth.…`) are rejected.',
  body: UserMail,
  documentedBody: bodyOf('application/json', documentedMail),
  bodyLimit,
  success: ok(
    Type.Object({
      sent: Type.Integer(),
      failed: Type.Integer(),
      errors: Type.Array(Type.Object({ to: Type.String(), error: Type.String() })),
    }),
  ),
  async handle(deps: UserMailDeps, { body, http }) {
    const caller = userOf(http)
    const { config, isDevelopment, templates, database, throttle, mailFunction } = deps
    requirePermitted(config, caller)
    requireKnownMembers(body)
    requireOwnTemplate(body.templateKey)
    const recipients = readRecipients(body.to, config.policy.max_recipients_per_request)
    const from = readFrom(config, body.from)
    const mail = await compose(body, templates)
    // In development the log shows the mail. Elsewhere the mail would be lost.
    if (config.backend === 'log' && !isDevelopment && !mailFunction.exists())
      throw mailErrors.mailNotConfigured()
    // The limit applies to the user, with any credential. Programs of one app that act for no user share a limit.
    const { send_rate_limit_per_key: attempts, send_rate_limit_window: windowSeconds } = config.policy
    const limit = { name: 'mail.user', attempts, windowSeconds }
    const verdict = await throttle.attempt(limit, caller.userId || caller.appId, recipients.length)
    requireAllowed(verdict, mailErrors.mailLimitReached())
    const mails = recipients.map((to) => ({ id: randomUUID(), to }))
    // The rows are inserted before sending, so that no mail leaves without a row, whatever stops the process.
    await insertMails(database, {
      ids: mails.map(({ id }) => id),
      recipients,
      userId: caller.userId === '' ? null : caller.userId,
      keyId: caller.keyId,
      sender: from ?? config.from,
      subject: mail.subject,
      templateKey: body.templateKey,
    })
    const outcomes = await Promise.all(
      mails.map(async ({ id, to }) => {
        const message = { to, ...mail, ...(from === undefined ? {} : { from }) }
        return { id, to, ...(await attempt(deps, message, id)) }
      }),
    )
    await recordOutcomes(database, outcomes)
    const errors = outcomes.flatMap(({ to, error }) => (error === undefined ? [] : [{ to, error }]))
    return { sent: outcomes.length - errors.length, failed: errors.length, errors }
  },
})

const limit = limitParameter(50, 500)

const listSent = operation({
  id: 'mail.listSent',
  guard: 'admin',
  permission: 'bodies.read',
  method: 'GET',
  path: '/api/admin/email/sent',
  tag: 'mail',
  summary: 'List mails of users and programs, the newest first',
  query: Type.Object({
    user_id: Type.Optional(Type.String()),
    from: instantParameter,
    to: instantParameter,
    limit: limit.schema,
    offset: offsetParameter,
  }),
  success: ok(offsetPageOf(SentMail)),
  async handle({ database }: UserMailDeps, { query }) {
    const userId = query.user_id === undefined ? undefined : readUuid('user_id filter', query.user_id)
    const range = { limit: limit.read(query.limit), offset: query.offset ?? 0 }
    const times = readTimeRange({ from: query.from, to: query.to })
    const items = await listMails(database, { userId, ...times }, range)
    return { items, count: items.length, ...range }
  },
})

/** Operations on mail of users and programs, and on its log. */
export const userMailOperations = [sendOwn, listSent]

function requirePermitted({ policy }: EmailConfig, { keyId, isAnonymous }: UserIdentity): void {
  const { senders } = policy
  if (senders === 'none' || isAnonymous || (senders === 'keys' && keyId === undefined)) {
    throw mailErrors.mailSenderNotPermitted()
  }
}

/** Returns the given sender, or undefined for the default one. @throws AppError from_address_not_allowed */
export function readFrom({ from, policy }: EmailConfig, requested: string | undefined): string | undefined {
  if (requested === undefined) return undefined
  const address = /\p{Cc}/u.test(requested) ? undefined : normalizeEmail(parseSender(requested).address)
  const allowed = [parseSender(from).address, ...policy.allowed_from_addresses].map(normalizeEmail)
  if (address === undefined || !allowed.includes(address)) throw mailErrors.fromAddressNotAllowed()
  return requested.trim()
}

/** Sends a mail. Callers learn whether another attempt makes sense. The backend's reason is for the operator. */
async function attempt({ backend, log }: UserMailDeps, message: MailMessage, id: string) {
  try {
    await backend.send(message, { id })
    return { reason: undefined, error: undefined }
  } catch (error) {
    const reason = messageOf(error)
    log.warn({ id, reason }, 'failed to send a mail of a user')
    return { reason, error: error instanceof MailRefused ? 'the mail was refused' : 'failed to send email' }
  }
}

/**
 * Returns the normalized addresses, each once.
 *
 * @throws AppError missing_template_field, too_many_recipients, invalid_recipient
 */
export function readRecipients(to: UserMail['to'] = [], limit: number): string[] {
  const list = typeof to === 'string' ? [to] : to
  if (list.every((address) => address.trim() === '')) throw mailErrors.missingTemplateField('to')
  if (list.length > limit) throw mailErrors.tooManyRecipients(limit)
  const addresses = list.map((text) => {
    const address = normalizeEmail(text)
    if (address === undefined) throw mailErrors.invalidRecipient().with({ data: { to: text } })
    return address
  })
  return [...new Set(addresses)]
}

/**
 * Rejects unknown members, because a misspelled `html` would silently be missing from the mail.
 *
 * @throws AppError invalid_mail_field
 */
export function requireKnownMembers(request: object): void {
  const unknown = Object.keys(request).find((name) => !members.includes(name))
  if (unknown !== undefined) {
    throw mailErrors.invalidMailField(`unknown member "${unknown}"${suggestion(unknown, members)}`)
  }
}

/**
 * Rejects system templates. Readers trust mail of the system, so a mail with an address of the sender's own
 * could take over accounts.
 */
export function requireOwnTemplate(key: string | undefined): void {
  if (key?.startsWith(systemTemplatePrefix) === true) throw mailErrors.systemTemplateNotPermitted()
}
