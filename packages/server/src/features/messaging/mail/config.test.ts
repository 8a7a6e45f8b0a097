import { expect, test } from 'vitest'
import { testConfig } from '../../../../test/test-config.ts'

const smtp = {
  'email.backend': 'smtp',
  'email.smtp.host': 'mail.example.com',
  'email.from': 'Shop <shop@example.com>',
}

test.each<[Record<string, string>]>([
  [{}],
  [{ 'email.backend': 'log', 'email.smtp.username': 'shop' }],
  [smtp],
  [{ ...smtp, 'email.from': 'shop@bücher.example' }],
  [{ ...smtp, 'email.smtp.username': 'shop', 'email.smtp.password': 'secret' }],
  [{ 'email.backend': 'smtp', 'email.smtp.host': 'localhost' }],
  [{ 'email.backend': 'webhook', 'email.webhook.url': 'https://mail.example.com/send' }],
])('mail configuration › accepts %j', (settings) => {
  expect(testConfig(settings).email).toBeDefined()
})

test.each<[Record<string, string>, string]>([
  [{ 'email.backend': 'webhook' }, 'email.webhook.url (default): required with email.backend = "webhook"'],
  [
    { 'email.backend': 'smtp', 'email.from': 'shop@example.com' },
    'email.smtp.host (default): required with email.backend = "smtp"',
  ],
  [
    { ...smtp, 'email.smtp.username': 'shop' },
    'email.smtp.password (default): required with email.smtp.username',
  ],
  [
    { 'email.backend': 'smtp', 'email.smtp.host': 'mail.example.com' },
    'email.from (default): "no-reply@localhost" is no address mail can come from; with email.backend = "smtp" it must be one, such as Shop <no-reply@example.com>',
  ],
  [
    { ...smtp, 'email.from': 'Shop <shop@intranet>' },
    'email.from (flag --email-from): "shop@intranet" is no address mail can come from; with email.backend = "smtp" it must be one, such as Shop <no-reply@example.com>',
  ],
])('mail configuration › rejects %j', (settings, fault) => {
  expect(() => testConfig(settings)).toThrow(fault)
})
