import type { Logger } from 'pino'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { Feature } from '../../../feature.ts'
import { housekeeping, type JobQueue } from '../../../job-queue.ts'
import { createThrottle } from '../../operations/throttle/index.ts'
import type { MailBackend } from './backend.ts'
import type { EmailConfig } from './config.ts'
import { mailRoutes } from './routes.ts'
import { createMailService } from './service.ts'
import type { MailTemplates } from './templates.ts'
import { deleteMails } from './user-mail/queries.ts'
import { UserMail } from './user-mail/service.ts'

export type { MailBackend, MailMessage } from './backend.ts'
export { createMailBackend } from './create-backend.ts'
export { mailErrorTable } from './errors.ts'
export { textOfHtml } from './plain-text.ts'
export { MailRefused } from './refusal.ts'
export type { RenderedMail } from './render-template.ts'
export { createMailTemplates, type MailTemplates } from './templates.ts'

export interface MailDeps {
  readonly config: EmailConfig
  readonly isDevelopment: boolean
  readonly database: SystemDatabase
  readonly queue: JobQueue
  readonly templates: MailTemplates
  readonly backend: MailBackend
  readonly log: Logger
}

/** Mail: its templates, what sends it, their administration, and mail of users. */
export function mail(deps: MailDeps): Feature {
  const { config, database, queue, backend } = deps
  queue.define(
    housekeeping('sent_mail_retention', ({ retention_days = config.policy.retention_days }) =>
      deleteMails(database, retention_days),
    ),
  )
  const throttle = createThrottle(database)
  const service = createMailService({ ...deps, throttle })
  const userMail = new UserMail({ ...deps, throttle })
  return {
    name: 'mail',
    routes: (app) => mailRoutes(app, service, userMail),
    stop: () => backend.close(),
  }
}
