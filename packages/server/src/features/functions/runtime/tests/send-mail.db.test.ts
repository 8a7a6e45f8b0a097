import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { createAccountsApp, goodPassword, newEmail } from '../../../../../test/accounts.ts'
import { makeFunctionsFolder } from '../../../../../test/functions-folder.ts'
import { waitFor } from '../../../../../test/wait-for.ts'

interface Sent {
  readonly key: string
  readonly mail: { readonly id: string; readonly to: string; readonly from: string; readonly text: string }
}

/** Opens a service that sends mail, with a status for each request. */
async function openService(statuses: number[]) {
  const requests: Sent[] = []
  const server = createServer(async (request, response) => {
    let body = ''
    for await (const chunk of request) body += chunk
    requests.push({ key: request.headers.authorization ?? '', mail: JSON.parse(body) })
    response.writeHead(statuses.shift() ?? 200).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { url, requests, [Symbol.dispose]: () => server.close() }
}

const functionFor = (url: string) => `import { FunctionError, sendMail } from '@basaltdb/functions'
  export default sendMail(async (ctx, mail) => {
    const headers = { authorization: ctx.secrets.MAIL_KEY }
    const response = await ctx.fetch('${url}', { method: 'POST', headers, body: JSON.stringify(mail) })
    await ctx.db.sql\`insert into sent values (\${mail.id}, \${response.status})\`
    if (response.status === 422) throw new FunctionError(422, 'no such mailbox')
    if (!response.ok) throw new Error('the service is down: ' + ctx.secrets.MAIL_KEY)
  })`
const secret = 'mail-key-of-the-shop'

test('sendMail › sends all mail without a backend: again after a failure, and never after a refusal', async () => {
  using service = await openService([200, 503, 200, 422])
  using folder = makeFunctionsFolder({ 'mail.ts': functionFor(service.url) })
  await using accounts = await createAccountsApp({
    setup: 'create table sent (id text, status int)',
    // Outside of development, this backend counts as no mail at all.
    config: {
      'email.backend': 'log',
      'email.from': 'Shop <shop@example.com>',
      'functions.folder': folder.path,
      'webhooks.allow_private_targets': 'true',
      'server.public_base_url': 'https://shop.example.com',
    },
  })
  const { app, post } = accounts
  const token = await app.adminToken()
  await app.request('PUT', '/api/admin/secrets/MAIL_KEY', { token, body: { value: secret } })
  const email = newEmail()
  const { token: own } = (await post('register', { email, password: goodPassword })).json
  await waitFor('the verification', () => service.requests.length === 1)
  expect(service.requests[0]).toMatchObject({
    key: secret,
    mail: {
      to: email,
      from: 'Shop <shop@example.com>',
      text: expect.stringContaining('/auth/verify?token='),
    },
  })

  // The second mail fails once. Its job makes another attempt, which sends the same mail.
  await post('password-reset', { email })
  await waitFor('the failure', () => service.requests.length === 2)
  await app.sql(`update basalt.jobs set run_at = now() where state = 'queued'`)
  await waitFor('the repetition', () => service.requests.length === 3)
  const [failed, repeated] = service.requests.slice(1)
  expect(repeated?.mail).toEqual(failed?.mail)
  const jobs = () =>
    app.sql(`select state, attempts, coalesce(last_error, '') as error from basalt.jobs
      where type = 'accounts.send_mail' and payload ->> 'purpose' = 'password_reset'`)
  await waitFor('its end', async () => (await jobs())[0]?.state === 'completed')
  expect((await jobs())[0]).toMatchObject({ attempts: 2 })
  // The row of the failed attempt is undone.
  expect(await app.sql('select status from sent')).toEqual([{ status: 200 }, { status: 200 }])

  const refused = { token: own, body: { to: 'rejected@example.com', subject: 'Hello', text: 'Hello' } }
  const response = await app.request('POST', '/api/email/send', refused)
  expect(response.json).toMatchObject({ sent: 0, failed: 1, errors: [{ error: 'the mail was refused' }] })
  expect(service.requests).toHaveLength(4)
  expect(app.log.join('') + JSON.stringify(await app.sql('select * from basalt.jobs'))).not.toContain(secret)
})
