import type { Queryable } from '../../../../../database/system-database.ts'
import { type JobQueue, JobRefused, type JobType } from '../../../../../job-queue.ts'
import { MailRefused } from '../../../../messaging/mail/index.ts'
import type { AccountContext } from '../../context.ts'
import { deriveJobSecret } from '../../keys.ts'
import { accountLimits } from '../../limits.ts'
import { lockUserByEmail, type User } from '../../users.ts'
import { issueMailedToken, type MailPurpose } from './mailed-tokens.ts'

/**
 * Mail with a link. The request only adds a job: it does the same for every address, in the same time, and does not wait
 * for a mail server. The token is made when the mail is sent, so no queue and no table ever holds it; every
 * attempt of the job makes the same one.
 */
export interface MailRequest {
  readonly purpose: MailKindName
  /** Normalized. */
  readonly email: string
}

const jobName = 'accounts.send_mail'

const hour = 3600

/** Adds the job; in a transaction it is there exactly when what it tells of is. */
export async function requestMail(
  jobs: JobQueue,
  request: MailRequest,
  transaction?: Queryable,
): Promise<void> {
  await jobs.enqueue(jobName, request, transaction)
}

/**
 * Does what a mail to verify the address comes with, and says whether the address may get one more: a client that signs up
 * with an address, deletes the account and signs up again fills no mailbox.
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
    // No account, no mail. A count that cannot be taken back now ends with its window.
    if (isAllowed) await throttle.release(mailTo, key).catch(() => undefined)
    throw error
  }
}

/** What mails of one purpose to one address are counted under. */
export function mailKey(purpose: MailKindName, email: string): string {
  return `${purpose} ${email}`
}

/** What a mail asks its reader to do. */
export type MailKindName = MailPurpose | 'invitation'

interface MailKind {
  /** What its token is good for. */
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
  // The account has no password yet: to choose one is to accept.
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
        if (!isWanted(purpose, user)) return undefined
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
      try {
        await mail.backend.send({ to: email, ...rendered }, { id })
      } catch (error) {
        if (error instanceof MailRefused) throw new JobRefused(error.message)
        throw error
      }
    },
  }
}

/** A sign-in link may make the account; the others need one, and a verified address needs no verification. */
function isWanted(purpose: MailPurpose, user: User | undefined): boolean {
  if (user === undefined) return purpose === 'magic_link'
  if (user.disabled_at !== null) return false
  return purpose !== 'email_verification' || user.email_verified_at === null
}
