import type { Logger } from 'pino'
import type { Clock } from '../../../lib/clock.ts'
import { messageOf } from '../../../lib/errors.ts'
import type { SmsProviderConfig } from './config.ts'
import { type OutgoingRequest, post } from './exchange.ts'
import { createLogProvider } from './log-provider.ts'
import { type SmsProvider, SmsRefused, type TextMessage } from './provider.ts'
import { redact } from './redact.ts'
import type { Vendor } from './vendor.ts'
import { msg91 } from './vendors/msg91.ts'
import { plivo } from './vendors/plivo.ts'
import { sns } from './vendors/sns.ts'
import { telnyx } from './vendors/telnyx.ts'
import { twilio } from './vendors/twilio.ts'
import { vonage } from './vendors/vonage.ts'
import { webhook } from './vendors/webhook.ts'

export interface SmsDeps {
  readonly config: SmsProviderConfig
  /** True if codes may be written to the log. */
  readonly isDevelopment: boolean
  readonly log: Logger
  readonly clock: Clock
  /** Time limit of the whole exchange with the provider. */
  readonly timeoutMs?: number
}

type ProviderName = SmsProviderConfig['sms_provider']

const vendors: Readonly<
  Record<Exclude<ProviderName, 'log'>, (config: SmsProviderConfig, clock: Clock) => Vendor>
> = { webhook, twilio, plivo, telnyx, msg91, sns, vonage }

/** Creates the provider that the configuration names. */
export function createSmsProvider({
  config,
  isDevelopment,
  log,
  clock,
  timeoutMs = 10_000,
}: SmsDeps): SmsProvider {
  const name = config.sms_provider
  if (name === 'log') return createLogProvider(log, isDevelopment)
  const vendor = vendors[name](config, clock)
  return {
    async send(message, { id } = {}) {
      const request = await prepare(name, vendor, message, id)
      const reply = await post(request, timeoutMs).catch((error: unknown) => {
        throw new Error(`${name} did not accept the message: ${messageOf(error)}`)
      })
      const outcome = vendor.read(reply)
      if (outcome.isAccepted) return { messageId: outcome.messageId }
      const reason = redact(outcome.reason, [...vendor.secrets, ...secretsOf(message, request)])
      if (outcome.isFinal) throw new SmsRefused(`${name} refused the message: ${reason}`)
      throw new Error(`${name} did not accept the message: ${reason}`)
    },
  }
}

async function prepare(
  name: ProviderName,
  vendor: Vendor,
  message: TextMessage,
  id: string | undefined,
): Promise<OutgoingRequest> {
  try {
    return await vendor.request(message, id)
  } catch {
    // The original error may quote the message or a key.
    throw new Error(`the request to ${name} could not be built: check its keys in the configuration`)
  }
}

/** Returns the secrets that a provider would reveal by repeating the request in its response. */
function secretsOf({ to, body }: TextMessage, { headers }: OutgoingRequest): string[] {
  const authorization = headers.authorization ?? ''
  return [to, to.replace('+', ''), body, ...(body.match(/\d{4,}/g) ?? []), authorization.replace(/^\w+ /, '')]
}
