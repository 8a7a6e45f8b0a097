import {
  choice,
  flag,
  integer,
  list,
  plain,
  secret,
  signingSecret,
  text,
  webAddress,
} from '../../../config/keys.ts'
import type { ConfigRule, RuleViolation } from '../../../config/rule.ts'
import { type Static, Type } from '../../../lib/type.ts'

/**
 * Keys of `sms`, for text messages of users and programs. The provider and the allowed countries are keys of
 * `auth`.
 */
export const smsConfig = Type.Object({
  policy: Type.Object({
    senders: choice(
      'keys',
      ['users', 'keys', 'none'],
      'Senders allowed by `/api/messaging/sms/send`: signed-in users and programs, API keys only, or none. Programs need the action `sms:send`, which only an administrator grants.',
    ),
    messages_per_number_and_day: integer(
      10,
      'Text messages of users and programs to one number in 24 hours, counted over all senders.',
      1,
      100_000,
    ),
    messages_per_day: integer(
      1000,
      'Text messages of all users and programs in 24 hours. 0 means no limit.',
      0,
      10_000_000,
    ),
  }),
})

/** Keys of `auth` for codes sent to phones, and their provider. */
export const smsKeys = {
  sms_enabled: flag(
    false,
    'True if users may sign in by a code sent to their phone, and use it as second factor.',
  ),
  sms_provider: choice(
    'log',
    ['log', 'webhook', 'twilio', 'plivo', 'telnyx', 'msg91', 'sns', 'vonage'],
    'Provider that sends text messages.',
  ),
  sms_code_length: integer(6, 'Number of digits of a code sent to a phone.', 4, 8),
  sms_code_expiry: integer(300, 'Seconds for which a code sent to a phone is valid.', 60, 600),
  sms_max_attempts: integer(3, 'Wrong codes after which a code sent to a phone is void.', 1, 10),
  sms_daily_limit: integer(
    1000,
    'Text messages a day for signing in and for enrolling a phone. 0 means no limit.',
    0,
    10_000_000,
  ),
  sms_allowed_countries: list(['US', 'CA'], 'Countries that codes are sent to. Empty means all.', {
    pattern: '^[A-Z]{2}$',
    expects: 'a list of two-letter country codes (ISO 3166-1)',
  }),
  sms_test_phone_numbers: list([], 'Numbers with a fixed code, to which nothing is sent.', {
    pattern: '^\\+[0-9]{4,20}=[0-9]{4,8}$',
    expects: 'a list such as +15005550006=123456',
  }),
  sms_webhook_url: webAddress('Address that the webhook provider posts text messages to.'),
  sms_webhook_secret: signingSecret(
    "Key that signs the webhook provider's requests, as in Standard Webhooks: any text, or whsec_ and base64.",
  ),
  twilio_sid: plain('Account SID of Twilio.'),
  twilio_token: secret('Auth token of Twilio.'),
  twilio_from: plain('Number that Twilio sends from.'),
  plivo_auth_id: plain('Auth ID of Plivo.'),
  plivo_auth_token: secret('Auth token of Plivo.'),
  plivo_from: plain('Number that Plivo sends from.'),
  telnyx_api_key: secret('API key of Telnyx.'),
  telnyx_from: plain('Number that Telnyx sends from.'),
  msg91_auth_key: secret('Auth key of MSG91.'),
  msg91_template_id: plain('Template of MSG91.'),
  aws_region: plain('AWS region of SNS.'),
  aws_access_key_id: plain('AWS access key of SNS.'),
  aws_secret_access_key: secret('AWS secret key of SNS.'),
  vonage_api_key: plain('API key of Vonage.'),
  vonage_api_secret: secret('API secret of Vonage.'),
  vonage_from: plain('Sender name for Vonage.'),
  sms_status_url: webAddress(
    'Address of this server that providers report the status of messages to: `https://…/api/webhooks/sms/status`.',
  ),
  sms_retention_days: integer(30, 'Days for which sent text messages are kept for administrators.', 1, 3650),
  telnyx_public_key: text('', 'Public key that verifies the callbacks of Telnyx.', {
    pattern: '^([A-Za-z0-9+/]{43}=)?$',
    expects: '32 bytes as base64',
  }),
  vonage_signature_secret: secret('Signature secret of Vonage, which signs its callbacks.'),
  sms_api_base_url: webAddress(
    "Address of the SMS provider, if it is not the provider's own (a stand-in or a region).",
  ),
}

export type SmsConfig = Static<typeof smsConfig>

export type SmsProviderConfig = Static<ReturnType<typeof Type.Object<typeof smsKeys>>>

/** Limit of `auth.limits` for messages of users. */
export interface SmsLimits {
  readonly limits: { readonly sms_messages_per_hour: number }
}

/** Rules of text message providers. */
export const smsRules: readonly ConfigRule<Sections>[] = [smsProviderNeedsItsKeys]

interface Sections {
  readonly auth: SmsProviderConfig
}

/** Required keys of each text message provider. */
const smsProviderKeys = {
  log: [],
  webhook: ['sms_webhook_url', 'sms_webhook_secret'],
  twilio: ['twilio_sid', 'twilio_token', 'twilio_from'],
  plivo: ['plivo_auth_id', 'plivo_auth_token', 'plivo_from'],
  telnyx: ['telnyx_api_key', 'telnyx_from'],
  msg91: ['msg91_auth_key', 'msg91_template_id'],
  sns: ['aws_region', 'aws_access_key_id', 'aws_secret_access_key'],
  vonage: ['vonage_api_key', 'vonage_api_secret', 'vonage_from'],
} as const satisfies Record<SmsProviderConfig['sms_provider'], readonly (keyof SmsProviderConfig)[]>

/** Requires the keys of the provider even while auth.sms_enabled is false, because it can be enabled at run time. */
function smsProviderNeedsItsKeys({ auth }: Sections): RuleViolation[] {
  return smsProviderKeys[auth.sms_provider]
    .filter((key) => auth[key].trim() === '')
    .map((key) => ({
      key: `auth.${key}`,
      problem: `required with auth.sms_provider = "${auth.sms_provider}"`,
    }))
}
