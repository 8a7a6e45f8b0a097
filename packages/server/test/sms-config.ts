import type { Config } from '../src/configuration.ts'
import { testConfig } from './test-config.ts'

export type SmsProviderName = Config['auth']['sms_provider']

/** Complete keys of every provider. The secret ones have characters that forms, URLs and JSON encode differently. */
const keysOf: Readonly<Record<SmsProviderName, Readonly<Record<string, string>>>> = {
  log: {},
  webhook: { sms_webhook_url: 'http://127.0.0.1:9/hook?tenant=1', sms_webhook_secret: 'wh/sec+ret=&"x' },
  twilio: { twilio_sid: 'AC0f/1', twilio_token: 'tw/tok+en=&"x', twilio_from: '+15005550001' },
  plivo: { plivo_auth_id: 'MA0f/1', plivo_auth_token: 'pl/tok+en=&"x', plivo_from: '14152828726' },
  telnyx: { telnyx_api_key: 'KEY01/tel+nyx=&"x', telnyx_from: '+15005550002' },
  msg91: { msg91_auth_key: '91/auth+key=&"x', msg91_template_id: 'tmpl-65f0' },
  sns: {
    aws_region: 'eu-central-1',
    aws_access_key_id: 'AKIDEXAMPLE',
    aws_secret_access_key: 'wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY',
  },
  vonage: { vonage_api_key: 'abcd1234', vonage_api_secret: 'vo/sec+ret=&"x', vonage_from: 'Basalt' },
}

/** Returns keys of the command line for a provider with the given address. */
export function smsSettings(provider: SmsProviderName, url?: string): Record<string, string> {
  const address = provider === 'webhook' ? 'auth.sms_webhook_url' : 'auth.sms_api_base_url'
  const keys = Object.entries(keysOf[provider]).map(([name, value]) => [`auth.${name}`, value] as const)
  return {
    'auth.sms_provider': provider,
    ...Object.fromEntries(keys),
    ...(url === undefined ? {} : { [address]: url }),
  }
}

export function smsConfig(provider: SmsProviderName, url?: string): Config['auth'] {
  return testConfig(smsSettings(provider, url)).auth
}
