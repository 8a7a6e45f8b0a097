import type { Logger } from 'pino'
import type { ProviderName, PushProvider } from '../provider.ts'

/** Creates a provider that logs messages instead of sending them, for development without credentials. */
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
