import type { Logger } from 'pino'
import type { Clock } from '../../../lib/clock.ts'
import { isEmailAddress } from '../../../lib/email-address.ts'
import { WorkInFlight } from '../../../lib/work-in-flight.ts'
import type { MailBackend } from './backend.ts'
import type { EmailConfig } from './config.ts'
import { type MailFunction, noMailFunction, preferFunction } from './function-backend.ts'
import { createLogBackend } from './log-backend.ts'
import { MailRefused } from './refusal.ts'
import { createSmtpBackend } from './smtp-backend.ts'
import { createWebhookBackend } from './webhook-backend.ts'

export interface MailBackendDeps {
  readonly config: EmailConfig
  /** True if the log may show codes and links. */
  readonly isDevelopment: boolean
  readonly log: Logger
  readonly clock: Clock
  /** Function of the operator, which sends instead of the backend. */
  readonly mailFunction?: MailFunction
}

/** Creates the backend of mail: the function that sends it, or else that of `email.backend`. */
export function createMailBackend(deps: MailBackendDeps): MailBackend {
  const backend = preferFunction(
    deps.mailFunction ?? noMailFunction,
    deps.config,
    backends[deps.config.backend](deps),
  )
  const inFlight = new WorkInFlight()
  return {
    async send(message, options) {
      inFlight.signal.throwIfAborted()
      if (!isEmailAddress(message.to)) throw new MailRefused('not an email address')
      await inFlight.add(backend.send(message, options))
    },
    async close() {
      await inFlight.stop()
      await backend.close()
    },
  }
}

const backends: Readonly<Record<EmailConfig['backend'], (deps: MailBackendDeps) => MailBackend>> = {
  log: ({ log, isDevelopment }) => createLogBackend(log, isDevelopment),
  smtp: ({ config, clock }) => createSmtpBackend({ ...config, clock }),
  webhook: ({ config, clock }) =>
    createWebhookBackend({ config: config.webhook, sender: config.from, clock }),
}
