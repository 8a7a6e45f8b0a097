import type { Logger } from 'pino'
import { maskPhone } from './phone.ts'
import type { SmsProvider } from './provider.ts'

/**
 * Sends nothing: writes messages to the log while developing. Elsewhere the log is read by people and machines
 * that must not be able to sign in as others, so it only logs that a message was due.
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
