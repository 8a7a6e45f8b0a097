import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AccountsApp, goodPassword, newEmail } from '../../../../../test/accounts.ts'
import { createMfaApp, totpUser } from '../../../../../test/second-factors.ts'
import { cleanUp } from '../clean-up.ts'

let accounts: AccountsApp
beforeAll(async () => {
  accounts = await createMfaApp()
})
afterAll(async () => accounts[Symbol.asyncDispose]())

test('MFA clean-up › removes only old anonymous users and unfinished enrolments', async () => {
  const sql = accounts.app.sql
  const old = (await accounts.post('anonymous')).json
  const young = (await accounts.post('anonymous')).json
  const linked = (await accounts.post('anonymous')).json
  await accounts.post('link/email', { email: newEmail(), password: goodPassword }, linked.token)
  const confirmed = await totpUser(accounts)
  const [stale, fresh] = [await accounts.register(), await accounts.register()]
  for (const { token } of [stale, fresh]) await accounts.post('mfa/totp/enroll', undefined, token)
  await sql("update basalt.users set created_at = now() - interval '31 days' where id <> $1", [young.user.id])
  await sql("update basalt.mfa_factors set created_at = now() - interval '11 minutes' where user_id <> $1", [
    fresh.user.id,
  ])
  const limits = { enabled: false, anonymous_days: 30, enrollment_minutes: 10 }
  expect(await cleanUp(accounts.app.app.database.system, limits)).toEqual({
    anonymousUsers: 1,
    enrollments: 1,
  })
  expect(await cleanUp(accounts.app.app.database.system, limits)).toEqual({
    anonymousUsers: 0,
    enrollments: 0,
  })
  const left = (await sql('select id from basalt.users')).map(({ id }) => id)
  expect(left).not.toContain(old.user.id)
  expect(left).toEqual(expect.arrayContaining([young.user.id, linked.user.id, confirmed.user.id]))
  expect(
    (await sql('select user_id from basalt.mfa_factors order by created_at')).map(({ user_id }) => user_id),
  ).toEqual([confirmed.user.id, fresh.user.id])
  await expect
    .poll(async () => (await accounts.app.request('GET', '/api/auth/me', { token: old.token })).status)
    .toBe(401)
})
