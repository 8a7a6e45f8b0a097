import { describe, expect, test } from 'vitest'
import { createAccountsApp, goodPassword, mailedLinkToken } from '../../../test/accounts.ts'
import { tokenIn } from '../../../test/inbox.ts'
import { createMfaApp, pendingToken, sentCode, totpCode, totpUser } from '../../../test/second-factors.ts'
import { testAdminPassword, testSecret } from '../../../test/test-config.ts'

const inProduction = { 'server.public_base_url': 'https://app.example.com', 'logging.requests': 'all' }

describe.each(['json', 'pretty'])('log in the format %s', (format) => {
  const config = { ...inProduction, 'logging.format': format }

  test('has no secret of a session with accounts, factors, mails, streams and webhooks', async () => {
    await using accounts = await createMfaApp({ config })
    const { app, post, inbox } = accounts
    const secrets: string[] = [goodPassword, testAdminPassword, testSecret]
    /** Uses each secret where it belongs and where it does not: in queries of paths, headers and bodies. */
    const keep = <Answer>(answer: Answer): Answer => {
      secrets.push(...secretsIn(answer))
      return answer
    }

    const user = keep(await totpUser(accounts, 'ada@example.com'))
    const verification = tokenIn(await inbox.take('ada@example.com'))
    expect((await post('verify', { token: verification })).status).toBe(200)
    expect((await post('verify', { token: verification })).status).toBe(400)
    const pending = await pendingToken(accounts, 'ada@example.com')
    const { challenge_id } = (await post('mfa/totp/challenge', undefined, pending)).json
    const code = totpCode(user.secret)
    const session = keep((await post('mfa/totp/verify', { challenge_id, code }, pending)).json)
    const codes = keep((await post('mfa/backup/generate', undefined, session.token)).json)
    keep((await post('refresh', { refreshToken: session.refreshToken })).json)
    const link = await mailedLinkToken(accounts, 'bob@example.com')
    keep((await post('magic-link/confirm', { token: link })).json)
    await post('password-reset', { email: 'bob@example.com' })
    const reset = tokenIn(await inbox.take('bob@example.com'))
    await post('password-reset/confirm', { token: reset, password: 'cinnamon-lantern-73' })
    await post('sms', { phone: '+12025550123' })
    const texted = await sentCode(accounts, '+12025550123')
    await post('sms/confirm', { phone: '+12025550123', code: texted })
    secrets.push(verification, pending, link, reset, texted, code, 'cinnamon-lantern-73')

    const admin = await app.adminToken()
    const secret = 'whsec_aHVudGVyMi1odW50ZXIyLWh1bnRlcjItaHVudGVyMg=='
    const body = { url: 'https://hook.example/in', secret }
    expect((await app.request('POST', '/api/webhooks', { token: admin, body })).status).toBe(201)
    secrets.push(admin, secret)
    expect(JSON.stringify(codes)).toMatch(/\w{5}-\w{5}/)

    // An internal failure is logged with its cause.
    await app.sql('alter table basalt.administrators rename to gone')
    expect(
      (await app.request('POST', '/api/admin/auth', { body: { password: `wrong-${goodPassword}` } })).status,
    ).toBe(500)
    await app.sql('alter table basalt.gone rename to administrators')

    for (const value of secrets) {
      const query = encodeURIComponent(value)
      await app.request('GET', `/api/realtime?tables=nothing&token=${query}`)
      await app.request('GET', `/auth/verify?token=${query}`)
      if (/^(basalt_|eyJ)/.test(value)) await app.request('GET', `/api/collections/${value}/1`)
      await app.request('GET', `/api/collections/nothing?filter=a='${query}'`, {
        token: value.replace(/\s/g, ''),
      })
      await post('login', { email: 'ada@example.com', password: value })
      await post('magic-link/confirm', { token: value })
      await app.request('POST', '/api/admin/auth', { body: { code: value } })
    }
    expect(app.log.length).toBeGreaterThan(100)
    const log = app.log.join('')
    expect(log).toContain('request failed')
    // The digits of a code may be part of a longer number.
    const isIn = (value: string) =>
      new RegExp(`(?<!\\d)${value.replaceAll(/[^\w\s]/g, '\\$&')}(?!\\d)`).test(log)
    expect(secrets.filter(isIn)).toEqual([])
  })

  test('has no mailed link and no code when mails and text messages are not sent', async () => {
    await using inbox = await createAccountsApp({
      config: { ...config, 'email.backend': 'log', 'auth.sms_provider': 'log' },
    })
    const { app, post } = inbox
    await post('register', { email: 'ada@example.com', password: goodPassword })
    await post('magic-link', { email: 'ada@example.com' })
    await post('password-reset', { email: 'ada@example.com' })
    await post('sms', { phone: '+12025550123' })
    const notSent = () => app.log.filter((line) => /not sent/.test(line)).length
    await expect.poll(notSent).toBe(4)
    expect(app.log.join('')).not.toMatch(/token=|basalt_\w+_\w{20}|\b\d{6}\b(?!Z)|\+12025550123/)
  })
})

/** Returns every text in a response that can sign a caller in. */
function secretsIn(answer: unknown): string[] {
  const found: string[] = []
  JSON.stringify(answer, (name, value: unknown) => {
    const isSecret =
      /token|secret|uri/i.test(name) || (typeof value === 'string' && /^\w{5}-\w{5}$/.test(value))
    if (isSecret && typeof value === 'string') found.push(value)
    return value
  })
  return found
}
