import type { Logger } from 'pino'
import { maskPhone } from './phone.ts'
import type { SmsProvider } from './provider.ts'

/**
 * Creates a provider that logs messages in development instead of sending them. Elsewhere readers of the log
 * must not be able to sign in as other users, so it logs only that a message was due.
 */
export function createLogProvider(log: Logger, isDevelopment: boolean): SmsProvider {
  return {
    async send({ to, body }) {
      if (isDevelopment) log.info({ to, body }, 'text message (auth.sms_provider is log: not sent)')
      else log.warn({ to: maskPhone(to) }, 'text message not sent: set auth.sms_provider')
      return { messageId: undefined }
    },
  }
}
