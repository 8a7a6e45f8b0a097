import type { Logger } from 'pino'
import type { ProviderName, PushProvider } from '../provider.ts'

/** Sends nothing: while developing, a provider without credentials shows in the log what it would have sent. */
export function createLogProvider(name: ProviderName, log: Logger): PushProvider {
  return {
    async send({ id, token, message }) {
      const { title, body, data, options } = message
      const device = token.slice(0, 12)
      log.info(
        { provider: name, device, title, body, data, options },
        'push message, not sent: no credentials',
      )
      return { kind: 'sent', messageId: `log-${id}` }
    },
    lane: () => name,
    close: () => undefined,
  }
}
