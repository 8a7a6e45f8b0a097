import { expect, test } from 'vitest'
import { encryptWebPush, findKeysProblem } from './webpush-encryption.ts'

/** Example of RFC 8291 §5 and appendix A. */
const keys = {
  p256dh: 'BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4',
  auth: 'BTBZMqHH6r4Tts7J_aSIgg',
}

test('web push › encryption › matches the example of RFC 8291', () => {
  const encrypted = encryptWebPush(Buffer.from('When I grow up, I want to be a watermelon'), keys, {
    salt: Buffer.from('DGv6ra1nlYgDCS1FRnbzlw', 'base64url'),
    privateKey: Buffer.from('yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw', 'base64url'),
  })
  expect(encrypted.toString('base64url')).toBe(
    'DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK' +
      '6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN',
  )
})

test.each([
  ['of a subscription', keys, undefined],
  ['without auth', { ...keys, auth: '' }, 'keys.auth: expected 16 bytes as base64url'],
  [
    'with a short key',
    { ...keys, p256dh: 'BCVx' },
    'keys.p256dh: expected a public key of P-256 as base64url',
  ],
  [
    'with a point off the curve',
    { ...keys, p256dh: `${keys.p256dh.slice(0, -6)}AAAAAA` },
    'keys.p256dh: expected a public key of P-256 as base64url',
  ],
])('web push › keys %s', (_, keysOfBrowser, problem) => {
  expect(findKeysProblem(keysOfBrowser)).toBe(problem)
})
