import { afterAll, beforeAll, expect, test } from 'vitest'
import { type SmsStandIn, startSmsStandIn, text } from '../../../../test/sms-stand-in.ts'
import { post, replyLimit } from './exchange.ts'

let standIn: SmsStandIn

beforeAll(async () => {
  standIn = await startSmsStandIn()
})
afterAll(() => standIn[Symbol.asyncDispose]())

test.each([
  [0, 0],
  [replyLimit - 1, replyLimit - 1],
  [replyLimit, replyLimit],
  [replyLimit + 1, replyLimit],
  [5 * replyLimit, replyLimit],
])('SMS exchange › reads of a response of %i bytes the first %i', async (size, expected) => {
  standIn.answerWith(text(200, 'x'.repeat(size)))
  const reply = await post({ url: standIn.url, headers: {}, body: '' }, 5000)
  expect(reply).toEqual({ status: 200, text: 'x'.repeat(expected) })
})
