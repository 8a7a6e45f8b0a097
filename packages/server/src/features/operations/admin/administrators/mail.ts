import { sql } from '../../../../database/sql.ts'
import type { Queryable, SystemDatabase } from '../../../../database/system-database.ts'
import type { JobQueue, JobType } from '../../../../job-queue.ts'
import { escapeHtml } from '../../../../lib/page.ts'
import { noticeJob as jobName, type RemovedFactorNotice } from '../second-factor/notice.ts'
import { isEstablished } from './administrator.ts'
import { createInvitation, passwordLink } from './invitation.ts'

/** Mail to an administrator. */
type MailToAdministrator = {
  readonly administratorId: string
  /** Reason: an invitation, a forgotten password, or a notice of a new administrator or a removed factor. */
  readonly kind: 'invitation' | 'forgotten_password' | 'added' | RemovedFactorNotice['kind']
  /** Address and role of the added administrator. */
  readonly added?: string
  /** Address of the administrator whose factor was removed. */
  readonly name?: string
}

export interface AdministratorMailDeps {
  readonly database: SystemDatabase
  readonly appName: string
  /** Returns the URL at which people reach the dashboard; undefined unless it is served. */
  readonly dashboardUrl: () => string | undefined
  /** Name of the provider with which invited administrators sign in; undefined if they set a password. */
  readonly providerTitle: string | undefined
  /** Sends a mail. The id is the same at every attempt. @throws JobRefused when it never will be sent */
  send(
    message: { readonly to: string; readonly subject: string; readonly text: string; readonly html: string },
    id: string,
  ): Promise<void>
}

/** Returns the job that sends mail to administrators. It creates the code of a link at the time of sending. */
export function administratorMailJob(deps: AdministratorMailDeps): JobType<MailToAdministrator> {
  return {
    name: jobName,
    retry: { attempts: 11, delay: 5, delayMax: 900, backoff: 2 },
    timeout: 60,
    isForOwners: true,
    async handle({ administratorId, kind, added = '', name = '' }, { id }) {
      const { database, appName, dashboardUrl, providerTitle, send } = deps
      const mail = await database.transaction(async (transaction) => {
        const to = await transaction.maybeOne<{ email: string | null }>(sql`
          select email from basalt.administrators where id = ${administratorId} and disabled_at is null`)
        if (to?.email == null) return undefined
        if (kind === 'added') return { to: to.email, ...noticeOf(appName, added) }
        if (kind === 'factor_removed') return { to: to.email, ...removalOf(appName, name) }
        if (providerTitle !== undefined) {
          if (kind === 'forgotten_password') return undefined
          return { to: to.email, ...signInOf(appName, providerTitle, dashboardUrl() ?? '') }
        }
        const { code } = await createInvitation(transaction, administratorId)
        const link = passwordLink(dashboardUrl(), code) ?? code
        return { to: to.email, ...(kind === 'invitation' ? invitationOf : forgottenOf)(appName, link) }
      })
      if (mail === undefined) return
      const { text } = mail
      await send({ ...mail, html: `<p>${escapeHtml(text).replaceAll('\n\n', '</p>\n<p>')}</p>` }, id)
    },
  }
}

const invitationOf = (appName: string, link: string) => ({
  subject: `Invitation to administer ${appName}`,
  text: `You are invited to administer ${appName}.\n\nSet your password within seven days:\n\n${link}`,
})

const signInOf = (appName: string, provider: string, link: string) => ({
  subject: `Invitation to administer ${appName}`,
  text: `You are invited to administer ${appName}.\n\nSign in with ${provider}, by this address:\n\n${link}`,
})

const forgottenOf = (appName: string, link: string) => ({
  subject: `New password for ${appName}`,
  text: `A new password was requested for your account as an administrator of ${appName}.\n\nSet it here:\n\n${link}\n\nWithout your action, the present password stays valid.`,
})

const noticeOf = (appName: string, added: string) => ({
  subject: `New administrator of ${appName}`,
  text: `${added} was added to the administrators of ${appName}.\n\nIf this is not intended, remove the administrator in the dashboard.`,
})

const removalOf = (appName: string, name: string) => ({
  subject: `Second factor removed at ${appName}`,
  text: `A second factor of ${name}, an administrator of ${appName}, was removed.\n\nIf this is not intended, disable the administrator in the dashboard.`,
})

/** Sends the invitation by mail, and notifies the owners. It must run in the transaction of the invitation. */
export async function mailInvitation(
  queue: JobQueue,
  transaction: Queryable,
  { id, email, role }: { readonly id: string; readonly email: string | null; readonly role: string },
): Promise<void> {
  await queue.enqueue(jobName, { administratorId: id, kind: 'invitation' }, transaction)
  await mailAdded(queue, transaction, { email, role })
}

/** Notifies the owners of a new administrator. */
export async function mailAdded(
  queue: JobQueue,
  transaction: Queryable,
  { email, role }: { readonly email: string | null; readonly role: string },
): Promise<void> {
  const owners = await transaction.many<{ id: string }>(sql`
    select id from basalt.administrators a
    where role = 'owner' and disabled_at is null and ${isEstablished} and email is not null`)
  for (const owner of owners) {
    const added = `${email ?? ''} (${role})`
    await queue.enqueue(jobName, { administratorId: owner.id, kind: 'added', added }, transaction)
  }
}

/** Sends a link for a new password, if there is an enabled administrator with the address. */
export async function mailForgottenPassword(
  queue: JobQueue,
  database: SystemDatabase,
  email: string,
): Promise<void> {
  await database.transaction(async (transaction) => {
    const found = await transaction.maybeOne<{ id: string }>(sql`
      select id from basalt.administrators where lower(email) = lower(${email}) and disabled_at is null`)
    if (found === undefined) return
    await queue.enqueue(jobName, { administratorId: found.id, kind: 'forgotten_password' }, transaction)
  })
}
