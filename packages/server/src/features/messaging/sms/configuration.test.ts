import { tmpdir } from 'node:os'
import { describe, expect, test } from 'vitest'
import { type SmsProviderName, smsSettings } from '../../../../test/sms-config.ts'
import { loadConfig } from '../../../configuration.ts'

const required: Readonly<Record<Exclude<SmsProviderName, 'log'>, readonly string[]>> = {
  webhook: ['auth.sms_webhook_url', 'auth.sms_webhook_secret'],
  twilio: ['auth.twilio_sid', 'auth.twilio_token', 'auth.twilio_from'],
  plivo: ['auth.plivo_auth_id', 'auth.plivo_auth_token', 'auth.plivo_from'],
  telnyx: ['auth.telnyx_api_key', 'auth.telnyx_from'],
  msg91: ['auth.msg91_auth_key', 'auth.msg91_template_id'],
  sns: ['auth.aws_region', 'auth.aws_access_key_id', 'auth.aws_secret_access_key'],
  vonage: ['auth.vonage_api_key', 'auth.vonage_api_secret', 'auth.vonage_from'],
}
const names = Object.keys(required) as (keyof typeof required)[]

function load(flags: Readonly<Record<string, string>>) {
  return loadConfig({ directory: tmpdir(), file: '/dev/null', env: {}, flags }).config.auth
}

function faults(flags: Readonly<Record<string, string>>): string[] {
  try {
    load(flags)
  } catch (error) {
    return (error as Error).message
      .replace(/^invalid configuration(: |\n)/, '')
      .split('\n')
      .map((line) => line.trim())
  }
  return []
}

describe.each(names)('SMS configuration › %s', (name) => {
  test('accepts all of its keys', () => {
    expect(load(smsSettings(name)).sms_provider).toBe(name)
  })

  test.each(['true', 'false'])('names every missing key while sms_enabled is %s', (isEnabled) => {
    const flags = { 'auth.sms_provider': name, 'auth.sms_enabled': isEnabled }
    expect(faults(flags)).toEqual(
      required[name].map((key) => `${key} (default): required with auth.sms_provider = "${name}"`),
    )
  })

  test.each(required[name])('rejects a missing %s', (key) => {
    const { [key]: _, ...rest } = smsSettings(name)
    expect(faults(rest)).toEqual([`${key} (default): required with auth.sms_provider = "${name}"`])
  })
})

test('SMS configuration › the log provider needs no key', () => {
  expect(load({ 'auth.sms_enabled': 'true' }).sms_provider).toBe('log')
})

test('SMS configuration › a key of blanks counts as missing', () => {
  const flags = { ...smsSettings('vonage'), 'auth.vonage_from': '  ' }
  expect(faults(flags)).toEqual([
    'auth.vonage_from (flag --auth-vonage-from): required with auth.sms_provider = "vonage"',
  ])
})

test('SMS configuration › keys of other providers are not required', () => {
  expect(load({ ...smsSettings('telnyx'), 'auth.twilio_sid': 'AC1' }).sms_provider).toBe('telnyx')
})
