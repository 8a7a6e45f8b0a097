import { expect, test } from 'vitest'
import { isSmsStatus, type SmsStatus, statusesBefore } from './statuses.ts'

test.each([
  ['pending', []],
  ['accepted', ['pending']],
  ['queued', ['pending', 'accepted']],
  ['sending', ['pending', 'accepted', 'queued']],
  ['sent', ['pending', 'accepted', 'queued', 'sending']],
  ['delivered', ['pending', 'accepted', 'queued', 'sending', 'sent']],
  ['undelivered', ['pending', 'accepted', 'queued', 'sending', 'sent']],
  ['failed', ['pending', 'accepted', 'queued', 'sending', 'sent']],
  ['canceled', ['pending', 'accepted', 'queued', 'sending', 'sent']],
] satisfies [SmsStatus, SmsStatus[]][])('sms › statuses › %s follows %j', (status, before) => {
  expect(statusesBefore(status)).toEqual(before)
})

test('sms › statuses › other statuses are unknown', () => {
  expect(['delivered', 'Delivered', 'received', ''].map(isSmsStatus)).toEqual([true, false, false, false])
})
