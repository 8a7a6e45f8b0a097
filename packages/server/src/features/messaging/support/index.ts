import type { SystemDatabase } from '../../../database/system-database.ts'
import type { Feature } from '../../../feature.ts'
import { addOperations } from '../../../http/operation.ts'
import type { HttpServer } from '../../../http/server.ts'
import { housekeeping, type JobQueue } from '../../../job-queue.ts'
import { createThrottle } from '../../operations/throttle/index.ts'
import type { MailBackend } from '../mail/index.ts'
import { answerJob } from './answer-mail.ts'
import type { SupportConfig } from './config.ts'
import { supportErrors } from './errors.ts'
import { ownTicketOperations, ticketOperations } from './operations.ts'
import { acceptMail, receiveMail } from './receive-mail.ts'
import { deleteClosedTickets } from './ticket.ts'

export { supportErrorTable } from './errors.ts'

export interface SupportDeps {
  readonly config: SupportConfig
  readonly database: SystemDatabase
  readonly queue: JobQueue
  readonly backend: MailBackend
}

/** Makes the feature of support tickets, by the API and by mail. */
export function support({ config, database, queue, backend }: SupportDeps): Feature {
  const inboundDomain = config.inbound_email_domain.toLowerCase()
  queue.define(answerJob({ database, backend, inboundDomain }))
  queue.define(
    housekeeping('support_retention', ({ retention_days = config.retention_days }) =>
      deleteClosedTickets(database, retention_days),
    ),
  )
  const throttle = createThrottle(database)
  const context = { database, queue, throttle, messagesPerHour: config.messages_per_hour, inboundDomain }
  return {
    name: 'support',
    routes(app) {
      void app.register(async (scope: HttpServer) => {
        // This check runs after the guard and before the body is read.
        scope.addHook('preParsing', async () => {
          if (!config.enabled) throw supportErrors.supportNotEnabled()
        })
        addOperations(scope, context, [...ownTicketOperations, ...ticketOperations])
        void scope.register(async (callbacks: HttpServer) => {
          acceptMail(callbacks, config.webhook_secret)
          addOperations(callbacks, context, [receiveMail])
        })
      })
    },
  }
}
