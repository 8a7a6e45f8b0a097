import { allowsPrivateTargets } from '../../config/development.ts'
import { createOutbound, type Resolve } from '../../http/outbound.ts'
import type { Platform } from '../../platform.ts'
import { createMailBackend, createMailTemplates, mail } from './mail/index.ts'
import { push } from './push/index.ts'
import { createSmsProvider } from './sms/index.ts'

/** Wires what sends messages to people. */
export function wireMessaging(platform: Platform, { resolve }: { readonly resolve?: Resolve | undefined }) {
  const { config, isDevelopment, database, clock, log, output } = platform
  const { system } = database
  const backend = createMailBackend({
    config: config.email,
    isDevelopment,
    log: config.email.backend === 'log' ? output : log,
    clock,
  })
  const templates = createMailTemplates({ database: system, appName: config.email.app_name, log })
  return {
    features: [
      mail({ database: system, templates, backend, log }),
      push({
        ...platform,
        config: config.push,
        database: system,
        outbound: createOutbound({
          allowsPrivate: () => allowsPrivateTargets(config),
          ...(resolve === undefined ? {} : { resolve }),
        }),
      }),
    ],
    mail: { backend, templates },
    sms: createSmsProvider({
      config: config.auth,
      isDevelopment,
      log: config.auth.sms_provider === 'log' ? output : log,
      clock,
    }),
  }
}
