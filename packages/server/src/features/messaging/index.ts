import type { Platform } from '../../platform.ts'
import { createMailBackend, createMailTemplates, mail } from './mail/index.ts'
import { createSmsProvider } from './sms/index.ts'

/** Wires what sends messages to people. */
export function wireMessaging({ config, isDevelopment, database: { system }, clock, log, output }: Platform) {
  const backend = createMailBackend({
    config: config.email,
    isDevelopment,
    log: config.email.backend === 'log' ? output : log,
    clock,
  })
  const templates = createMailTemplates({ database: system, appName: config.email.app_name, log })
  return {
    features: [mail({ database: system, templates, backend, log })],
    mail: { backend, templates },
    sms: createSmsProvider({
      config: config.auth,
      isDevelopment,
      log: config.auth.sms_provider === 'log' ? output : log,
      clock,
    }),
  }
}
