import type { Queryable } from '../../../../../database/system-database.ts'
import type { JobQueue, JobType } from '../../../../../job-queue.ts'
import { sendInJob } from '../../../../messaging/mail/index.ts'
import type { AccountContext } from '../../context.ts'
import { deriveJobSecret } from '../../keys.ts'
import { accountLimits } from '../../limits.ts'
import { lockUserByEmail, type User } from '../../users.ts'
import { issueMailedToken, type MailPurpose } from './mailed-tokens.ts'

/**
 * Request for a mail with a link. The request handler only adds a job, the same for every address and in the
 * same time, and does not wait for a mail server. The token is made when the mail is sent, so no queue or
 * table ever holds it. Every attempt of the job makes the same token.
 */
export interface MailRequest {
  readonly purpose: MailKindName
  /** Normalized address. */
  readonly email: string
}

const jobName = 'accounts.send_mail'

const hour = 3600

/** Adds the mail job. Within a transaction, the job exists exactly if the change that caused it commits. */
export async function requestMail(
  jobs: JobQueue,
  request: MailRequest,
  transaction?: Queryable,
): Promise<void> {
  await jobs.enqueue(jobName, request, transaction)
}

/**
 * Runs an action that sends a verification mail. The action learns whether the address may get one more mail.
 * Otherwise a client that signs up, deletes the account and signs up again could fill a mailbox.
 */
export async function withVerificationMail<Result>(
  context: AccountContext,
  email: string,
  work: (request: (transaction: Queryable) => Promise<void>) => Promise<Result>,
): Promise<Result> {
  const { throttle, jobs } = context
  const { mailTo } = accountLimits(context)
  const key = mailKey('email_verification', email)
  const { isAllowed } = await throttle.attempt(mailTo, key)
  try {
    const result = await work(async (transaction) => {
      if (isAllowed) await requestMail(jobs, { purpose: 'email_verification', email }, transaction)
    })
    jobs.wake()
    return result
  } catch (error) {
    // Without an account there is no mail. A count that cannot be released now ends with its window.
    if (isAllowed) await throttle.release(mailTo, key).catch(() => undefined)
    throw error
  }
}

/** Returns the key that counts mails of one purpose to one address. */
export function mailKey(purpose: MailKindName, email: string): string {
  return `${purpose} ${email}`
}

/** Kind of mail, by the action that it requests of its reader. */
export type MailKindName = MailPurpose | 'invitation'

interface MailKind {
  /** Purpose of the token in the mail. */
  readonly purpose: MailPurpose
  readonly template: string
  readonly path: string
  readonly lifetimeSeconds: (context: AccountContext) => number
}

const kinds: Readonly<Record<MailKindName, MailKind>> = {
  password_reset: {
    purpose: 'password_reset',
    template: 'auth.password_reset',
    path: '/auth/reset-password',
    lifetimeSeconds: () => hour,
  },
  email_verification: {
    purpose: 'email_verification',
    template: 'auth.email_verification',
    path: '/auth/verify',
    lifetimeSeconds: () => 24 * hour,
  },
  magic_link: {
    purpose: 'magic_link',
    template: 'auth.magic_link',
    path: '/auth/magic-link',
    lifetimeSeconds: ({ config }) => config.magic_link_duration,
  },
  // The account has no password yet: the user accepts by choosing one.
  invitation: {
    purpose: 'password_reset',
    template: 'auth.invitation',
    path: '/auth/reset-password',
    lifetimeSeconds: () => 7 * 24 * hour,
  },
}

export const mailKindNames = ['password_reset', 'magic_link', 'email_verification', 'invitation'] as const

export function mailJob(context: AccountContext): JobType<MailRequest> {
  return {
    name: jobName,
    retry: { attempts: 11, delay: 5, delayMax: 900, backoff: 2 },
    timeout: 60,
    async handle({ purpose: kind, email }, { id }) {
      const { database, appName, siteUrl, mail, keys } = context
      const { purpose, template, path, lifetimeSeconds } = kinds[kind]
      const token = await database.transaction(async (transaction) => {
        const user = await lockUserByEmail(transaction, email)
        if (!isNeeded(purpose, user)) return undefined
        return await issueMailedToken(transaction, purpose, {
          email,
          userId: user?.id,
          lifetimeSeconds: lifetimeSeconds(context),
          secret: deriveJobSecret(keys, id),
        })
      })
      if (token === undefined) return
      const variables = { AppName: appName, ActionURL: `${siteUrl()}${path}?token=${token}` }
      const rendered = await mail.templates.render(template, variables)
      await sendInJob(mail.backend, { to: email, ...rendered }, { id })
    },
  }
}

/**
 * Returns whether the mail should be sent. A sign-in link may create the account, the other mails need one,
 * and a verified address needs no verification.
 */
function isNeeded(purpose: MailPurpose, user: User | undefined): boolean {
  if (user === undefined) return purpose === 'magic_link'
  if (user.disabled_at !== null) return false
  return purpose !== 'email_verification' || user.email_verified_at === null
}
