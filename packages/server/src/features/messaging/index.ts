import { allowsPrivateTargets } from '../../config/development.ts'
import { createOutbound, type Resolve } from '../../http/outbound.ts'
import type { Platform } from '../../platform.ts'
import { administratorMailJob, signInMethodsOf } from '../operations/admin/index.ts'
import { createMailBackend, createMailTemplates, type MailFunction, mail, sendInJob } from './mail/index.ts'
import { type PushDeps, push } from './push/index.ts'
import { createSmsProvider, StoredSms, sms } from './sms/index.ts'
import { support } from './support/index.ts'

/** Wires the features that send messages to people. */
export function wireMessaging(
  platform: Platform,
  {
    resolve,
    isSmsEnabled,
    lockCaller,
    dashboardUrl,
    mailFunction,
  }: {
    readonly resolve?: Resolve | undefined
    readonly isSmsEnabled: () => boolean
    readonly lockCaller: PushDeps['lockCaller']
    readonly dashboardUrl: () => string | undefined
    readonly mailFunction: MailFunction
  },
) {
  const { config, isDevelopment, database, clock, log, output } = platform
  const { system } = database
  const backend = createMailBackend({
    config: config.email,
    isDevelopment,
    log: config.email.backend === 'log' ? output : log,
    clock,
    mailFunction,
  })
  const templates = createMailTemplates({ database: system, appName: config.email.app_name, log })
  const messages = new StoredSms({
    database: system,
    providerName: config.auth.sms_provider,
    provider: createSmsProvider({
      config: config.auth,
      isDevelopment,
      log: config.auth.sms_provider === 'log' ? output : log,
      clock,
    }),
  })
  const methods = signInMethodsOf(config.admin)
  platform.queue.define(
    administratorMailJob({
      database: system,
      appName: config.email.app_name,
      dashboardUrl,
      providerTitle: methods.password ? undefined : methods.provider?.title,
      send: (message, id) => sendInJob(backend, message, { id }),
    }),
  )
  const mailFeature = mail({
    ...platform,
    config: config.email,
    database: system,
    templates,
    backend,
    mailFunction,
  })
  const pushFeature = push({
    ...platform,
    config: config.push,
    database: system,
    lockCaller,
    outbound: createOutbound({
      allowsPrivate: () => allowsPrivateTargets(config),
      ...(resolve === undefined ? {} : { resolve }),
    }),
  })
  return {
    features: [
      mailFeature,
      pushFeature,
      sms({
        ...platform,
        config: config.auth,
        policy: config.sms.policy,
        database: system,
        sms: messages,
        isEnabled: isSmsEnabled,
      }),
      support({ ...platform, config: config.support, database: system, backend }),
    ],
    mail: { backend, templates },
    /** Messages that functions send. */
    ofFunctions: { mail: mailFeature.ofFunctions, push: pushFeature.ofFunctions },
    sms: messages.codes,
  }
}
