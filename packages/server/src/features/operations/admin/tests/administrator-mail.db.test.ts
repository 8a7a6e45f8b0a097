import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type AccountsApp, createAccountsApp } from '../../../../../test/accounts.ts'
import { administratorPassword, inviteAdministrator, signInAs } from '../../../../../test/administrators.ts'

let accounts: AccountsApp
let app: AccountsApp['app']

beforeAll(async () => {
  accounts = await createAccountsApp()
  app = accounts.app
})
afterAll(async () => {
  await accounts[Symbol.asyncDispose]()
})

/** Returns the code of the link in a mail. */
function codeIn(text: string | undefined): string {
  const [, code = ''] = /#code=(basalt_password_\w+)/.exec(text ?? '') ?? []
  return code
}

const setPassword = (code: string, password: string) =>
  app.request('POST', '/api/admin/auth/password', { body: { code, password } })
const forgot = (email: unknown) => app.request('POST', '/api/admin/auth/forgot', { body: { email } })

describe('POST /api/admin/administrators › mail', () => {
  test('sends the link to the invited administrator, and a notice to owners with an address', async () => {
    await inviteAdministrator(app, 'owner')
    await accounts.inbox.take('owner@example.com')
    const token = await app.adminToken()
    const body = { email: 'ada@example.com', role: 'support' }
    const invited = await app.request('POST', '/api/admin/administrators', { token, body })
    const mail = await accounts.inbox.take('ada@example.com')
    expect(mail).toMatchObject({
      subject: expect.stringContaining('Invitation to administer'),
      text: expect.stringContaining(`${app.url}/admin/set-password#code=`),
    })
    expect(await accounts.inbox.take('owner@example.com')).toMatchObject({
      subject: expect.stringContaining('New administrator'),
      text: expect.stringContaining('ada@example.com (support) was added'),
    })
    expect((await setPassword(codeIn(mail.text), administratorPassword)).status).toBe(204)
    await signInAs(app, 'ada@example.com')
    // Once one link has been used, the other one ends.
    expect((await setPassword(invited.json.invitation.code, 'another password')).status).toBe(401)
  })

  test('stores no code with the job', async () => {
    const jobs = await app.sql("select j::text as row from basalt.jobs j where type = 'administrator_mail'")
    expect(jobs.length).toBeGreaterThan(0)
    expect(JSON.stringify(jobs)).not.toContain('basalt_password_')
  })
})

describe('POST /api/admin/auth/forgot', () => {
  test('mails a link that sets a new password and ends the sessions', async () => {
    const token = await inviteAdministrator(app, 'viewer')
    await accounts.inbox.take('viewer@example.com')
    expect((await forgot(' Viewer@Example.com')).status).toBe(202)
    const mail = await accounts.inbox.take('viewer@example.com')
    expect(mail.subject).toContain('New password')
    expect((await app.request('GET', '/api/admin/session', { token })).status).toBe(200)
    expect((await setPassword(codeIn(mail.text), 'another password')).status).toBe(204)
    expect((await app.request('GET', '/api/admin/session', { token })).status).toBe(401)
    expect((await setPassword(codeIn(mail.text), 'a third password')).status).toBe(401)
  })

  test('responds the same for an unknown address, and mails nothing', async () => {
    const before = await app.sql('select from basalt.jobs')
    const response = await forgot('unknown@example.com')
    expect([response.status, response.text]).toEqual([202, ''])
    expect(await app.sql('select from basalt.jobs')).toHaveLength(before.length)
  })

  test('is no way back for a disabled administrator', async () => {
    await app.sql("update basalt.administrators set disabled_at = now() where email = 'viewer@example.com'")
    const before = await app.sql('select from basalt.jobs')
    expect((await forgot('viewer@example.com')).status).toBe(202)
    expect(await app.sql('select from basalt.jobs')).toHaveLength(before.length)
  })

  test('rejects what is no address, and more than ten an hour', async () => {
    expect((await forgot('no-address')).json.message).toBe('email: expected an email address')
    expect((await forgot(undefined)).status).toBe(400)
    const statuses: number[] = []
    for (let attempt = 0; attempt < 11; attempt += 1) statuses.push((await forgot('x@example.com')).status)
    expect(statuses.at(-1)).toBe(429)
  })
})
