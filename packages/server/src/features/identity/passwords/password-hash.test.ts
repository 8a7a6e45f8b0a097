import { describe, expect, test } from 'vitest'
import { hashPassword, verifyPassword } from './password-hash.ts'

/** Lowest cost of Argon2. The tests do not depend on the cost. */
const cheap = { memoryKib: 8, passes: 1, lanes: 1 }

describe('password hash', () => {
  test('is Argon2id with its cost in the PHC form, with a new salt each time', async () => {
    const hash = await hashPassword('secret')
    expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[A-Za-z0-9+/]{22}\$[A-Za-z0-9+/]{43}$/)
    expect(await hashPassword('secret')).not.toBe(hash)
    expect(await verifyPassword('secret', hash)).toBe(true)
  })

  test('verifies a hash of the reference implementation (phc-winner-argon2, test.c)', async () => {
    const hash = '$argon2id$v=19$m=65536,t=2,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc'
    expect(await verifyPassword('password', hash)).toBe(true)
    expect(await verifyPassword('Password', hash)).toBe(false)
  })

  test.each([
    ['empty', ''],
    ['plain text', 'secret'],
    ['bcrypt', '$2b$10$abcdefghijklmnopqrstuv'],
    ['Argon2i', '$argon2i$v=19$m=8,t=1,p=1$c29tZXNhbHQ$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc'],
    ['cut', '$argon2id$v=19$m=8,t=1,p=1$c29tZXNhbHQ$'],
  ])('throws for a hash that is %s, and never matches', async (_what, hash) => {
    await expect(verifyPassword('secret', hash)).rejects.toThrow('unknown password hash')
  })
})

describe('password verification', () => {
  test.each([
    ['in another case', 'Secret', 'secret'],
    ['with a trailing blank', 'secret ', 'secret'],
    ['cut at a zero byte', 'secret\0x', 'secret'],
    [
      'that differs at character 75',
      `${'x'.repeat(74)}a${'x'.repeat(5)}`,
      `${'x'.repeat(74)}b${'x'.repeat(5)}`,
    ],
    ['that differs at character 1000', `${'x'.repeat(999)}a`, `${'x'.repeat(999)}b`],
    ['that is empty', '', 'secret'],
  ])('rejects a password %s', async (_what, one, other) => {
    const hash = await hashPassword(other, cheap)
    expect([await verifyPassword(one, hash), await verifyPassword(other, hash)]).toEqual([false, true])
  })

  test('accepts either Unicode form of the same characters', async () => {
    const composed = 'Gr\u00f6\u00dfe \u2460'
    const decomposed = 'Gro\u0308\u00dfe 1'
    expect(await verifyPassword(decomposed, await hashPassword(composed, cheap))).toBe(true)
  })

  test('accepts any characters', async () => {
    for (const password of ['🦊🦊🦊', 'كلمة السر', '\u202eabc', '\ud800', "'; drop table x; --"]) {
      expect(await verifyPassword(password, await hashPassword(password, cheap))).toBe(true)
    }
  })
})
