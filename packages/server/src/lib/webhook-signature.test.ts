import { expect, test } from 'vitest'
import { isBrokenSecret, signatureHeaders } from './webhook-signature.ts'

// The secret is the example of the Standard Webhooks libraries.
const secret = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const parts = {
  id: 'msg_p5jXN8AQM9LWM0D4loKWxJek',
  at: new Date(1614265330_900),
  body: '{"test": 2432232314}',
}

test('webhook signature › follows the standard for a secret of its format', () => {
  expect(signatureHeaders([secret], parts)).toEqual({
    'webhook-id': parts.id,
    'webhook-timestamp': '1614265330',
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
    // printf '%s' '{"test": 2432232314}' | openssl dgst -sha256 -hmac 'whsec_…'
    'x-basalt-signature': expect.stringMatching(/^[0-9a-f]{64}$/),
  })
})

test('webhook signature › uses the bytes of a plain secret', () => {
  // RFC 4231, test case 2.
  const headers = signatureHeaders(['Jefe'], { ...parts, body: 'what do ya want for nothing?' })
  expect(headers['x-basalt-signature']).toBe(
    '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
  )
})

test('webhook signature › is missing without a secret', () => {
  expect(signatureHeaders([undefined, 'before'], parts)).toEqual({
    'webhook-id': parts.id,
    'webhook-timestamp': '1614265330',
  })
})

test.each(['whsec_', 'whsec_@@@', 'whsec_a b'])('webhook secret › %s is malformed', (text) => {
  expect(isBrokenSecret(text)).toBe(true)
})

test.each([secret, 'anything', 'whsec'])('webhook secret › %s is well-formed', (text) => {
  expect(isBrokenSecret(text)).toBe(false)
})
