import type { Logger } from 'pino'
import type { SystemDatabase } from '../../../database/system-database.ts'
import type { Feature } from '../../../feature.ts'
import { addOperations } from '../../../http/operation.ts'
import type { HttpServer } from '../../../http/server.ts'
import { housekeeping, type JobQueue, type MessageJobs } from '../../../job-queue.ts'
import { codeOf } from '../../../lib/errors.ts'
import { createThrottle } from '../../operations/throttle/index.ts'
import type { MailBackend } from './backend.ts'
import type { EmailConfig } from './config.ts'
import { mailErrors } from './errors.ts'
import type { MailFunction } from './function-backend.ts'
import { bodyLimit, mailOperations } from './operations.ts'
import type { MailTemplates } from './templates.ts'
import { functionMail } from './user-mail/function-mail.ts'
import { userMailOperations } from './user-mail/operations.ts'
import { deleteMails } from './user-mail/sent-mail.ts'

export type { MailBackend } from './backend.ts'
export { createMailBackend } from './create-backend.ts'
export { mailErrorTable } from './errors.ts'
export { type MailFunction, noMailFunction } from './function-backend.ts'
export { textOfHtml } from './plain-text.ts'
export { MailRefused } from './refusal.ts'
export { sendInJob } from './send-in-job.ts'
export { verifySmtp } from './smtp-backend.ts'
export { createMailTemplates, type MailTemplates } from './templates.ts'

export interface MailDeps {
  readonly config: EmailConfig
  readonly isDevelopment: boolean
  readonly database: SystemDatabase
  readonly queue: JobQueue
  readonly templates: MailTemplates
  readonly backend: MailBackend
  readonly mailFunction: MailFunction
  readonly log: Logger
}

/** Feature of mail, and the mail of functions. */
export interface Mail extends Feature {
  readonly ofFunctions: MessageJobs
}

/** Makes the feature of mail: its templates, backends and administration, and mail of users. */
export function mail(deps: MailDeps): Mail {
  const { config, database, queue, backend } = deps
  queue.define(
    housekeeping('sent_mail_retention', ({ retention_days = config.policy.retention_days }) =>
      deleteMails(database, retention_days),
    ),
  )
  const context = { ...deps, throttle: createThrottle(database) }
  return {
    name: 'mail',
    ofFunctions: functionMail(context),
    routes(app) {
      void app.register(async (scope: HttpServer) => {
        // A body that is too large gets 400 here, unlike elsewhere.
        scope.setErrorHandler((error, _request, reply) => {
          const isTooLarge = codeOf(error) === 'FST_ERR_CTP_BODY_TOO_LARGE'
          return reply.send(
            isTooLarge ? mailErrors.templateTooLarge(`the body exceeds ${bodyLimit} bytes`) : error,
          )
        })
        addOperations(scope, context, mailOperations)
        addOperations(scope, context, userMailOperations)
      })
    },
    stop: () => backend.close(),
  }
}
