import { createHmac, createPublicKey, generateKeyPairSync, sign as signRsa } from 'node:crypto'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { alice } from '../../../../../test/fixtures.ts'
import { base64Url, forgeJwt } from '../../../../../test/jwt.ts'
import { testSecret } from '../../../../../test/test-config.ts'
import { unattributed, type Verdict } from '../../../../http/access/identity.ts'
import { createAccessTokenVerifier, signAccessToken } from './access-token.ts'

const now = new Date('2026-03-04T05:06:07.500Z')
const seconds = Math.floor(now.getTime() / 1000)
const clock = { now: () => now }
const keys = { secret: testSecret, clock }

/** Verifies a token with a new verifier, which has nothing cached. */
function verify(token: string): Verdict {
  const verdict = createAccessTokenVerifier(keys).verify(token)
  if (verdict instanceof Promise) throw new Error('access tokens are verified without waiting')
  return verdict
}

const claims = {
  sub: alice,
  email: 'alice@example.com',
  email_verified: true,
  aal: 'aal2',
  amr: ['password', 'totp'],
  is_anonymous: false,
  sid: '5e551011-0000-4000-8000-000000000001',
  iat: seconds,
  exp: seconds + 900,
}
const valid = forgeJwt({ payload: claims })
const [head = '', body = '', signature = ''] = valid.split('.')
const refused: Verdict = { refusal: 'invalid' }

describe('access tokens › valid tokens', () => {
  test('becomes the identity of its claims', () => {
    const { iat, exp: _, ...made } = { ...claims, aal: 'aal2' as const }
    expect(verify(signAccessToken(made, 900, keys))).toEqual({
      identity: {
        kind: 'user',
        ...unattributed,
        userId: alice,
        email: 'alice@example.com',
        sessionId: made.sid,
        aal: 'aal2',
        amr: ['password', 'totp'],
        isAnonymous: false,
        issuedAt: iat,
        scope: {
          kind: 'caller',
          userId: alice,
          email: 'alice@example.com',
          isEmailVerified: true,
          aal: 'aal2',
          isAnonymous: false,
          sessionId: made.sid,
        },
      },
    })
  })

  test('has the documented header and claims', () => {
    const token = signAccessToken(
      { sub: alice, email: '', email_verified: false, aal: 'aal1', amr: ['anonymous'], is_anonymous: true },
      900,
      keys,
    )
    const [header, payload] = token.split('.').map((part) => Buffer.from(part, 'base64url').toString())
    expect(JSON.parse(header ?? '')).toEqual({ alg: 'HS256', typ: 'JWT' })
    expect(JSON.parse(payload ?? '')).toEqual({
      sub: alice,
      email: '',
      email_verified: false,
      aal: 'aal1',
      amr: ['anonymous'],
      is_anonymous: true,
      iat: seconds,
      exp: seconds + 900,
    })
  })

  test('carries the claims of a function for policies, in one spelling', () => {
    const custom_claims = { plan: 'pro', teams: [1, 'é'], nested: { a: null } }
    expect(verify(signAccessToken({ ...claims, aal: 'aal1', custom_claims }, 900, keys))).toMatchObject({
      identity: { scope: { customClaims: JSON.stringify(custom_claims) } },
    })
    for (const forged of [null, [], 'plan', { a: '\0' }, { nested: { '\0': 1 } }])
      expect(verify(forgeJwt({ payload: { ...claims, custom_claims: forged } }))).toEqual(refused)
  })

  test('without optional claims is a first-factor token without a session', () => {
    expect(verify(forgeJwt({ payload: { sub: alice, exp: seconds + 1 } }))).toMatchObject({
      identity: { email: '', aal: 'aal1', amr: [], isAnonymous: false, sessionId: undefined },
    })
  })

  test('with a due second factor is pending', () => {
    const { sub, email } = claims
    for (const [jti, pendingId] of [
      ['7b0b1c1e-0000-4000-8000-000000000000', '7b0b1c1e-0000-4000-8000-000000000000'],
      [5, ''],
    ]) {
      expect(verify(forgeJwt({ payload: { ...claims, mfa_pending: true, jti } }))).toEqual({
        refusal: 'pending',
        pending: { userId: sub, email, pendingId },
      })
    }
  })

  test.each([
    ['the own issuer', { iss: 'basalt' }],
    ['the own audience', { aud: 'basalt' }],
    ['several audiences including the own', { aud: ['other', 'basalt'] }],
    ['a fractional expiry', { exp: seconds + 0.9 }],
    ['a start within the leeway', { nbf: seconds + 30, iat: seconds + 30 }],
    ['unknown claims', { jti: 'x', custom_claims: { a: 1 }, tenantId: null }],
  ])('accepts %s', (_what, more) => {
    expect(verify(forgeJwt({ payload: { ...claims, ...more } }))).toHaveProperty('identity')
  })

  test.each(['JWT', 'jwt', 'at+jwt', 'AT+JWT'])('accepts the type %s', (typ) => {
    expect(verify(forgeJwt({ header: { alg: 'HS256', typ }, payload: claims }))).toHaveProperty('identity')
  })

  test('accepts a missing type', () => {
    expect(verify(forgeJwt({ header: { alg: 'HS256' }, payload: claims }))).toHaveProperty('identity')
  })

  test('ignores keys and key ids in the header', () => {
    const jwk = { kty: 'oct', k: base64Url('attacker-attacker-attacker-attacker') }
    const header = {
      alg: 'HS256',
      kid: '../../dev/null',
      jwk,
      jku: 'http://evil.example',
      x5u: 'http://evil.example',
    }
    expect(verify(forgeJwt({ header, payload: claims }))).toHaveProperty('identity')
    expect(
      verify(forgeJwt({ header, payload: claims, secret: 'attacker-attacker-attacker-attacker' })),
    ).toEqual(refused)
    expect(verify(forgeJwt({ header, payload: claims, secret: '' }))).toEqual(refused)
  })
})

describe('access tokens › the algorithm (RFC 8725 §3.1, §3.2)', () => {
  test.each(['none', 'None', 'NONE', 'nOnE', 'none ', '', 'HS0'])('rejects "%s", signed or not', (alg) => {
    const unsigned = `${base64Url({ alg, typ: 'JWT' })}.${body}`
    for (const token of [`${unsigned}.`, unsigned, `${unsigned}.${signature}`])
      expect(verify(token)).toEqual(refused)
    expect(verify(forgeJwt({ header: { alg, typ: 'JWT' }, payload: claims }))).toEqual(refused)
  })

  test.each([
    ['HS384', 'sha384'],
    ['HS512', 'sha512'],
    ['hs256', 'sha256'],
    ['HS256 ', 'sha256'],
    ['RS256', 'sha256'],
    ['PS256', 'sha256'],
    ['ES256', 'sha256'],
    ['EdDSA', 'sha256'],
    ['HS1', 'sha1'],
  ])('rejects %s although the HMAC is right', (alg, hash) => {
    expect(verify(forgeJwt({ header: { alg, typ: 'JWT' }, payload: claims, hash }))).toEqual(refused)
  })

  test.each([
    ['missing', {}],
    ['null', { alg: null }],
    ['a list', { alg: ['HS256'] }],
    ['a number', { alg: 256 }],
    ['named ALG', { ALG: 'HS256' }],
  ])('rejects an algorithm that is %s', (_what, header) => {
    expect(verify(forgeJwt({ header, payload: claims }))).toEqual(refused)
  })

  test('rejects a longer HMAC under the name HS256', () => {
    expect(verify(forgeJwt({ payload: claims, hash: 'sha512' }))).toEqual(refused)
    expect(verify(forgeJwt({ payload: claims, hash: 'sha1' }))).toEqual(refused)
  })

  test('rejects key confusion: a signature by an RSA key, or an HMAC with the text of a public key', () => {
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
    const pem = createPublicKey(privateKey).export({ type: 'spki', format: 'pem' }).toString()
    const signed = `${base64Url({ alg: 'RS256', typ: 'JWT' })}.${body}`
    expect(
      verify(`${signed}.${signRsa('sha256', Buffer.from(signed), privateKey).toString('base64url')}`),
    ).toEqual(refused)
    expect(verify(forgeJwt({ payload: claims, secret: pem }))).toEqual(refused)
  })
})

describe('access tokens › the header', () => {
  test.each([
    ['with crit', { alg: 'HS256', crit: ['exp'] }],
    ['with an empty crit', { alg: 'HS256', crit: [] }],
    ['with crit null', { alg: 'HS256', crit: null }],
    ['of the type of a refresh token', { alg: 'HS256', typ: 'refresh+jwt' }],
    ['of the type of a mail link', { alg: 'HS256', typ: 'email+jwt' }],
    ['of the type of an id token', { alg: 'HS256', typ: 'id_token' }],
    ['of type null', { alg: 'HS256', typ: null }],
    ['of a type that is a list', { alg: 'HS256', typ: ['JWT'] }],
    ['that is a list', ['HS256']],
    ['that is a text', '"HS256"'],
    ['that is null', 'null'],
    ['that is not JSON', '{alg:HS256}'],
    ['that is empty', '""'],
  ])('rejects a header %s', (_what, header) => {
    expect(verify(forgeJwt({ header, payload: claims }))).toEqual(refused)
  })
})

describe('access tokens › exp, nbf and iat', () => {
  const without = (name: string) => Object.fromEntries(Object.entries(claims).filter(([key]) => key !== name))
  test.each([
    ['a missing expiry', without('exp')],
    ['an expiry that is a text', { ...claims, exp: String(seconds + 900) }],
    ['an expiry that is a list', { ...claims, exp: [seconds + 900] }],
    ['an expiry that is an object', { ...claims, exp: { valueOf: seconds + 900 } }],
    ['an expiry that is true', { ...claims, exp: true }],
    ['an expiry that is null', { ...claims, exp: null }],
    ['an expiry at zero', { ...claims, exp: 0 }],
    ['a negative expiry', { ...claims, exp: -(seconds + 900) }],
    ['an expiry that is now', { ...claims, exp: now.getTime() / 1000 }],
    ['an expiry a moment ago, without leeway', { ...claims, exp: seconds }],
    ['an expiry in words', { ...claims, exp: '2099-01-01T00:00:00Z' }],
    ['a start in the future', { ...claims, nbf: seconds + 61 }],
    ['a start in words', { ...claims, nbf: '2020-01-01' }],
    ['a start that is null', { ...claims, nbf: null }],
    ['an issue time in the future', { ...claims, iat: seconds + 61 }],
    ['an issue time in words', { ...claims, iat: 'now' }],
  ])('rejects %s', (_what, payload) => {
    expect(verify(forgeJwt({ payload }))).toEqual(refused)
  })

  test.each(['1e999', '-1e999'])('rejects an expiry of %s', (exp) => {
    expect(verify(forgeJwt({ payload: `{"sub":"${alice}","exp":${exp}}` }))).toEqual(refused)
  })

  test('uses the last of a repeated claim, as every JSON parser here does', () => {
    const payload = (first: number, last: number) => `{"sub":"${alice}","exp":${first},"exp":${last}}`
    expect(verify(forgeJwt({ payload: payload(seconds + 900, seconds - 1) }))).toEqual(refused)
    expect(verify(forgeJwt({ payload: payload(seconds - 1, seconds + 900) }))).toHaveProperty('identity')
  })
})

describe('access tokens › the claims', () => {
  test.each([
    ['of another issuer', { iss: 'https://evil.example' }],
    ['of an issuer that is a list', { iss: ['basalt'] }],
    ['for another audience', { aud: 'other' }],
    ['for other audiences', { aud: ['other', 'third'] }],
    ['without an audience', { aud: [] }],
    ['for audience null', { aud: null }],
    ['without a subject', { sub: undefined }],
    ['of an empty user', { sub: '' }],
    ['of a user that is not a UUID', { sub: 'alice' }],
    ['of a UUID in capitals', { sub: alice.toUpperCase() }],
    ['of a UUID followed by text', { sub: `${alice}' or true` }],
    ['of a UUID followed by a line end', { sub: `${alice}\n` }],
    ['of a user that is a number', { sub: 1 }],
    ['of a user that is a list', { sub: [alice] }],
    ['of the level aal3', { aal: 'aal3' }],
    ['of the level AAL2', { aal: 'AAL2' }],
    ['of a level that is a number', { aal: 2 }],
    ['of a level that is a list', { aal: ['aal2'] }],
    ['of a level null', { aal: null }],
    ['of methods that are a text', { amr: 'password' }],
    ['of methods that are numbers', { amr: [1] }],
    ['of is_anonymous in words', { is_anonymous: 'false' }],
    ['of mfa_pending in words', { mfa_pending: 'false' }],
    ['of mfa_pending 0', { mfa_pending: 0 }],
    ['of an email that is not text', { email: { $ne: '' } }],
    ['of an email with a zero byte', { email: 'a\0b' }],
    ['of an email that is too long', { email: 'x'.repeat(1025) }],
    ['of a session that is not text', { sid: 1 }],
    ['of a session that is not a UUID', { sid: 'one' }],
    ['of email_verified as text', { email_verified: 'true' }],
    ['of a session with a zero byte', { sid: '\0' }],
  ])('rejects claims %s', (_what, more) => {
    expect(verify(forgeJwt({ payload: { ...claims, ...more } }))).toEqual(refused)
  })

  test.each([
    ['a list', [claims]],
    ['a nested list', '[[[[]]]]'],
    ['lists 5,000 deep', '['.repeat(5000) + ']'.repeat(5000)],
    ['a text', '"sub"'],
    ['a number', '1'],
    ['null', 'null'],
    ['not JSON', '{sub:1}'],
    ['an empty string', '""'],
    ['not UTF-8', `{"sub":"${alice}","exp":${seconds + 900},"email":"\ud800"`],
  ])('rejects claims that are %s', (_what, payload) => {
    expect(verify(forgeJwt({ payload }))).toEqual(refused)
  })

  test('ignores a claim named __proto__', () => {
    const payload = `{"__proto__":{"sub":"${alice}","exp":${seconds + 900}}}`
    expect(verify(forgeJwt({ payload }))).toEqual(refused)
  })
})

describe('access tokens › the form', () => {
  test.each([
    ['empty', ''],
    ['dots', '..'],
    ['many dots', '.'.repeat(10_000)],
    ['one part', head],
    ['two parts', `${head}.${body}`],
    ['four parts', `${valid}.${signature}`],
    ['five parts, as an encrypted one has', `${head}..${body}.${signature}.${signature}`],
    ['without a signature', `${head}.${body}.`],
    ['without a header', `.${body}.${signature}`],
    ['without claims', `${head}..${signature}`],
    ['with half its signature', `${head}.${body}.${signature.slice(0, 20)}`],
    ['with a longer signature', `${valid}AAAA`],
    ['with a signature of zeros', `${head}.${body}.${'A'.repeat(43)}`],
    ['with padding', `${valid}=`],
    ['with blanks around', ` ${valid} `],
    ['with a line end', `${valid}\n`],
    [
      'in ordinary base64',
      `${head}.${body}.${createHmac('sha256', testSecret).update(`${head}.${body}`).digest('base64')}`,
    ],
    [
      'in hexadecimal',
      `${head}.${body}.${createHmac('sha256', testSecret).update(`${head}.${body}`).digest('hex')}`,
    ],
    ['of a megabyte', `${head}.${base64Url({ ...claims, email: 'x'.repeat(750_000) })}.${signature}`],
    ['as a JSON serialization', JSON.stringify({ protected: head, payload: body, signature })],
    ['of other letters', 'токен.токен.токен'],
  ])('rejects a token that is %s', (_what, token) => {
    expect(verify(token)).toEqual(refused)
  })

  test('rejects a signed token of more than 16 KiB', () => {
    const sized = (length: number) => forgeJwt({ payload: { ...claims, note: 'x'.repeat(length) } })
    expect(verify(sized(11_000))).toHaveProperty('identity')
    expect(verify(sized(13_000))).toEqual(refused)
  })

  test('rejects nonzero unused bits in the last character, so that one token has one spelling', () => {
    const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
    const last = alphabet.indexOf(signature.at(-1) ?? '')
    // 32 bytes leave two bits of the 43rd character unused.
    for (const twin of [1, 2, 3].map((bits) => alphabet[last + bits])) {
      const token = `${valid.slice(0, -1)}${twin}`
      expect(Buffer.from(token.split('.')[2] ?? '', 'base64url')).toEqual(Buffer.from(signature, 'base64url'))
      expect(verify(token)).toEqual(refused)
    }
  })

  test('rejects any replaced character', () => {
    fc.assert(
      fc.property(
        fc.nat(valid.length - 1),
        fc.string({ unit: 'binary', minLength: 1, maxLength: 2 }),
        (at, other) => {
          fc.pre(valid[at] !== other)
          expect(verify(valid.slice(0, at) + other + valid.slice(at + 1))).toEqual(refused)
        },
      ),
      { numRuns: 2000 },
    )
  })

  test('rejects any added, removed or moved character', () => {
    for (let at = 0; at < valid.length; at += 1) {
      expect(verify(valid.slice(0, at) + valid.slice(at + 1))).toEqual(refused)
      expect(verify(`${valid.slice(0, at)}A${valid.slice(at)}`)).toEqual(refused)
    }
  })

  test('never throws for a random text', () => {
    fc.assert(
      fc.property(fc.array(fc.oneof(fc.string(), fc.base64String(), fc.json().map(base64Url))), (parts) => {
        expect(verify(parts.join('.'))).toEqual(refused)
      }),
    )
  })

  test('never throws for random signed claims', () => {
    fc.assert(
      fc.property(
        fc.dictionary(
          fc.constantFrom(...Object.keys(claims), 'nbf', 'aud', 'iss', 'mfa_pending'),
          fc.jsonValue(),
        ),
        (payload) => {
          const verdict = verify(forgeJwt({ payload }))
          expect('refusal' in verdict || verdict.identity.kind === 'user').toBe(true)
        },
      ),
    )
  })
})

describe('access tokens › the verification cache', () => {
  test('rejects a cached token after its expiry', () => {
    let time = now.getTime()
    const verifier = createAccessTokenVerifier({ secret: testSecret, clock: { now: () => new Date(time) } })
    const first = verifier.verify(valid)
    expect(first).toHaveProperty('identity')
    expect(verifier.verify(valid)).toBe(first)
    time = claims.exp * 1000 - 1
    expect(verifier.verify(valid)).toBe(first)
    time = claims.exp * 1000
    expect(verifier.verify(valid)).toEqual(refused)
    time += 1
    expect(verifier.verify(valid)).toEqual(refused)
  })

  test('caches only valid tokens: a token of tomorrow is rejected today and accepted tomorrow', () => {
    let time = now.getTime()
    const verifier = createAccessTokenVerifier({ secret: testSecret, clock: { now: () => new Date(time) } })
    const token = forgeJwt({ payload: { ...claims, nbf: seconds + 86_400, exp: seconds + 90_000 } })
    expect(verifier.verify(token)).toEqual(refused)
    time += 86_400_000
    expect(verifier.verify(token)).toHaveProperty('identity')
  })

  test('holds the tokens of all connections of a node, and verifies evicted ones again', () => {
    const tokens = Array.from({ length: 5100 }, (_, index) =>
      forgeJwt({ payload: { ...claims, jti: index } }),
    )
    const ofNode = createAccessTokenVerifier(keys, tokens.length)
    const verdicts = tokens.map((token) => ofNode.verify(token))
    expect(tokens.every((token, index) => ofNode.verify(token) === verdicts[index])).toBe(true)
    const verifier = createAccessTokenVerifier(keys)
    for (const token of [...tokens, ...tokens.slice(0, 200)]) {
      expect(verifier.verify(token)).toHaveProperty('identity')
    }
  })
})
