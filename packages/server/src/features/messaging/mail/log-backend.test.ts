import { pino } from 'pino'
import { expect, test } from 'vitest'
import { testConfig } from '../../../../test/test-config.ts'
import { systemClock } from '../../../lib/clock.ts'
import type { MailMessage } from './backend.ts'
import { createMailBackend } from './create-backend.ts'

async function logged(message: MailMessage, isDevelopment: boolean): Promise<string> {
  const lines: string[] = []
  const log = pino({ base: null, timestamp: false }, { write: (line: string) => lines.push(line) })
  const config = testConfig({ 'email.backend': 'log' }).email
  await createMailBackend({ config, isDevelopment, log, clock: systemClock }).send(message)
  return lines.join('')
}

const message: MailMessage = {
  to: 'alice@example.com',
  subject: '123456 is your code; or 98 76-54',
  html: '<a href="https://shop.example/auth/verify?token=t0ken">Go</a>',
  text: 'Go https://shop.example/auth/verify?token=t0ken\n123456',
}

test('mail log backend › logs the mail with its links and codes in development', async () => {
  expect(JSON.parse(await logged(message, true))).toEqual({
    level: 30,
    msg: `mail, not sent: email.backend is log\n\n${message.text}\n`,
    to: message.to,
    subject: message.subject,
  })
})

test('mail log backend › logs neither links nor codes elsewhere', async () => {
  expect(JSON.parse(await logged(message, false))).toEqual({
    level: 30,
    msg: 'mail, not sent: email.backend is log',
    to: 'alice@example.com',
    subject: '[redacted] is your code; or [redacted]',
  })
})

test.each([
  ['Open https://shop.example/a?token=abc now', 'Open [redacted] now'],
  ['shop://reset/abc', '[redacted]'],
  ['Token AbCdEfGhIjKlMnOpQrStUvWxYz0123', 'Token [redacted]'],
  ['Order 17 of 2026 from Llanfairpwllgwyngyll', 'Order 17 of [redacted] from Llanfairpwllgwyngyll'],
])('mail log backend › redacts the subject %j to %j', async (subject, expected) => {
  expect(JSON.parse(await logged({ ...message, subject }, false)).subject).toBe(expected)
})
