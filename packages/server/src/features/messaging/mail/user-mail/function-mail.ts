import type { Logger } from 'pino'
import type { SystemDatabase } from '../../../../database/system-database.ts'
import { type JobQueue, JobRefused, type MessageJobs } from '../../../../job-queue.ts'
import { messageOf } from '../../../../lib/errors.ts'
import { findMismatch } from '../../../../lib/is-of.ts'
import { requireAllowed, type Throttle } from '../../../operations/throttle/index.ts'
import type { MailBackend } from '../backend.ts'
import type { EmailConfig } from '../config.ts'
import { mailErrors } from '../errors.ts'
import type { MailFunction } from '../function-backend.ts'
import type { RenderedMail } from '../render-template.ts'
import { sendInJob } from '../send-in-job.ts'
import type { MailTemplates } from '../templates.ts'
import { compose } from './compose.ts'
import { readFrom, readRecipients, requireKnownMembers, requireOwnTemplate, UserMail } from './operations.ts'
import { insertMails, recordOutcomes } from './sent-mail.ts'

const job = 'function_mail'
const retry = { attempts: 5, delay: 10, delayMax: 600, backoff: 3 }

export interface FunctionMailDeps {
  readonly config: EmailConfig
  readonly isDevelopment: boolean
  readonly database: SystemDatabase
  readonly queue: JobQueue
  readonly templates: MailTemplates
  readonly backend: MailBackend
  readonly mailFunction: MailFunction
  readonly throttle: Throttle
  readonly log: Logger
}

interface Payload extends RenderedMail {
  readonly to: string
  readonly from?: string
  readonly templateKey?: string
  readonly userId?: string
}

/** Defines the job for mail of functions, and returns its messages. */
export function functionMail(deps: FunctionMailDeps): MessageJobs {
  const { config, isDevelopment, queue, templates, throttle, mailFunction } = deps
  queue.define<Payload>({
    name: job,
    retry,
    timeout: 120,
    findProblem: () => 'only functions add it, by ctx.mail',
    handle: (payload, { id }) => send(deps, payload, id),
  })
  return {
    job,
    attempts: retry.attempts,
    async prepare(message, { userId, limitKey }) {
      requireKnownMembers(message)
      const mail = readMail(message)
      requireOwnTemplate(mail.templateKey)
      const recipients = readRecipients(mail.to, config.policy.max_recipients_per_request)
      const from = readFrom(config, mail.from)
      const composed = await compose(mail, templates)
      if (config.backend === 'log' && !isDevelopment && !mailFunction.exists())
        throw mailErrors.mailNotConfigured()
      const { send_rate_limit_per_key: attempts, send_rate_limit_window: windowSeconds } = config.policy
      if (limitKey !== undefined) {
        const limit = { name: 'mail.user', attempts, windowSeconds }
        const verdict = await throttle.attempt(limit, limitKey, recipients.length)
        requireAllowed(verdict, mailErrors.mailLimitReached())
      }
      return recipients.map((to): Payload => {
        const { templateKey } = mail
        return {
          ...composed,
          to,
          ...(from === undefined ? {} : { from }),
          ...(templateKey === undefined ? {} : { templateKey }),
          ...(userId === undefined ? {} : { userId }),
        }
      })
    },
  }
}

async function send(
  { database, backend, config, log }: FunctionMailDeps,
  { userId, templateKey, ...message }: Payload,
  id: string,
): Promise<void> {
  const { to, from = config.from, subject } = message
  // The row is inserted before sending, so that no mail leaves without one.
  await insertMails(database, {
    ...{ ids: [id], recipients: [to], userId: userId ?? null, keyId: undefined },
    ...{ sender: from, subject, templateKey },
  })
  try {
    await sendInJob(backend, message, { id })
  } catch (error) {
    const reason = messageOf(error)
    await recordOutcomes(database, [{ id, reason }])
    log.warn({ id, reason, isFinal: error instanceof JobRefused }, 'failed to send a mail of a function')
    throw error
  }
  await recordOutcomes(database, [{ id, reason: undefined }])
}

/** @throws AppError invalid_mail_field */
function readMail(message: object): UserMail {
  const mismatch = findMismatch(UserMail.properties, message)
  if (mismatch !== undefined)
    throw mailErrors.invalidMailField(
      `${mismatch}: expected ${mismatch === 'variables' ? 'an object of texts' : 'a text'}`,
    )
  // Each member has been checked.
  return message as UserMail
}
