import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { newEmail } from '../../../../server/test/accounts.ts'
import { type Inbox, openInbox } from '../../../../server/test/inbox.ts'
import { type Dashboard, journeys, openDashboard } from '../../tests/journey.ts'

/** Hostile text that an email address and a name may contain. */
const hostile = `"><img/src=x/onerror=alert(1)>`

journeys('dashboard › users, sign-in, mail and SMS', () => {
  let dashboard: Dashboard
  let inbox: Inbox
  beforeAll(async () => {
    inbox = await openInbox()
    dashboard = await openDashboard({
      config: {
        'email.backend': 'webhook',
        'email.webhook.url': inbox.url,
        'email.webhook.secret': 'a secret of the inbox',
        'auth.sms_enabled': 'true',
        'auth.sms_provider': 'webhook',
        'auth.sms_webhook_url': inbox.url,
        'auth.sms_webhook_secret': 'a secret of the inbox',
        'auth.oauth_provider.enabled': 'true',
        'storage.enabled': 'true',
      },
      setup: `
        create table post (id int primary key, author uuid references basalt.users on delete cascade, title text);
        alter table post enable row level security;
        grant select on post to basalt_authenticated;
        create policy own on post using (author = current_setting('basalt.user_id')::uuid);`,
    })
  })
  afterAll(async () => {
    await dashboard?.[Symbol.asyncDispose]()
    await inbox[Symbol.asyncDispose]()
  })
  afterEach(() => dashboard.expectNoProblems())

  test('invites, edits, disables and deletes a user, with a preview of the deletion', async () => {
    const { app, page } = dashboard
    const email = newEmail()
    await dashboard.open('/users')
    await page.getByRole('button', { name: 'Create or invite' }).click()
    await page.getByRole('textbox', { name: 'Email' }).fill(email)
    // A key press must not lose the input.
    const discard = page.getByRole('dialog', { name: 'Discard your input?' })
    await page.keyboard.press('Escape')
    await discard.getByRole('button', { name: 'Cancel' }).click()
    await page.keyboard.press('Escape')
    await discard.getByRole('button', { name: 'Discard', exact: true }).click()
    await page.getByRole('button', { name: 'Create or invite' }).click()
    await page.keyboard.press('Escape')
    await page.getByRole('dialog').waitFor({ state: 'detached' })
    await page.getByRole('button', { name: 'Create or invite' }).click()
    await page.getByRole('textbox', { name: 'Email' }).fill(email)
    await page.getByRole('button', { name: 'Send invitation' }).click()
    await page.getByRole('heading', { name: email }).waitFor()
    expect((await inbox.take(email)).text).toContain('/auth/reset-password?token=')

    await page.getByRole('button', { name: 'Edit', exact: true }).click()
    await page.getByLabel('Email address is verified').check()
    await page.getByLabel('Phone').fill('+1 202 555 0143')
    await page.getByRole('button', { name: 'Save' }).click()
    const row = () =>
      app.sql(
        'select phone, email_verified_at is not null as v, disabled_at is not null as d from basalt.users',
      )
    await expect.poll(row).toEqual([{ phone: '+12025550143', v: true, d: false }])

    await page.getByRole('button', { name: 'More' }).click()
    await page.getByRole('menuitem', { name: 'Disable' }).click()
    await expect.poll(row).toEqual([{ phone: '+12025550143', v: true, d: true }])
    await page.getByText('disabled', { exact: true }).waitFor()

    await app.sql('insert into post select 1, id from basalt.users')
    await page.getByRole('button', { name: 'More' }).click()
    await page.getByRole('menuitem', { name: 'Delete…' }).click()
    await page.getByRole('cell', { name: 'public.post (author)' }).waitFor()
    await dashboard.expectAccessible()
    await dashboard.screenshot('user-delete')
    await page.getByLabel(`Type ${email} to confirm`).fill(email)
    await page.getByRole('button', { name: 'Delete user' }).click()
    await page.getByText('No users yet.').waitFor()
    expect(await app.sql('select 1 from basalt.users')).toEqual([])
    expect(await app.sql('select 1 from post')).toEqual([])
  })

  test('impersonates a user, sees only the rows of that user, and ends the impersonation', async () => {
    const { app, page } = dashboard
    const [{ id } = { id: '' }] = await app.sql<{ id: string }>(
      `insert into basalt.users (email, email_verified_at) values ('${hostile.replace(/["<>]/g, '')}@example.com', now())
       returning id`,
    )
    await app.sql(
      `insert into basalt.social_identities (provider, subject, user_id, email, name, is_proven, tokens_renewable)
       values ('github', 's', $1, 'x@example.com', $2, true, false)`,
      [id, hostile],
    )
    await app.sql('insert into post select 2, $1, $2', [id, '<b>mine</b>'])
    await app.sql(`insert into post values (3, null, 'not mine')`)
    await dashboard.open(`/users/${id}`)
    await page.getByRole('button', { name: 'Act as this user' }).click()
    await page.getByLabel('Reason').fill('ticket 17')
    await page.getByRole('dialog').getByRole('button', { name: 'Act as this user' }).click()
    await page.getByLabel('Try a request as the user (GET)').fill('/api/collections/post')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    const answer = page.getByRole('figure', { name: 'Response' })
    await expect.poll(() => answer.textContent()).toContain('<b>mine</b>')
    expect(await answer.textContent()).not.toContain('not mine')
    await dashboard.expectAccessible()
    await dashboard.screenshot('user-acting-as')
    const held = () =>
      app.sql('select impersonated_by, impersonation_reason from basalt.sessions where user_id = $1', [id])
    expect(await held()).toEqual([{ impersonated_by: 'admin', impersonation_reason: 'ticket 17' }])
    await page.getByRole('button', { name: 'End impersonation' }).click()
    await expect.poll(held).toEqual([])

    await page.getByRole('tab', { name: 'Factors and providers' }).click()
    await page.getByText(hostile, { exact: true }).waitFor()
    await dashboard.expectAccessible()
    await dashboard.screenshot('user-sign-in-methods')
    await page.getByRole('button', { name: 'Actions of github' }).click()
    await page.getByRole('menuitem', { name: 'Unlink…' }).click()
    await page.getByRole('button', { name: 'Remove', exact: true }).click()
    await expect
      .poll(() => app.sql('select 1 from basalt.social_identities where user_id = $1', [id]))
      .toEqual([])
    await page.getByRole('tab', { name: 'Sessions' }).click()
    await page.getByText(/^No sessions\./).waitFor()
    await dashboard.open('/users?disabled=false&search=onerror')
    await page.getByRole('link', { name: /onerror/ }).waitFor()
    await dashboard.expectAccessible()
    await dashboard.screenshot('users')
  })

  test('enables a sign-in method, and configures and tests a provider', async () => {
    const { app, page } = dashboard
    await dashboard.open('/sign-in-settings')
    // Another administrator enables another method, which the page does not know.
    const token = await app.adminToken()
    await app.request('PATCH', '/api/admin/auth-settings', {
      token,
      body: { sms_enabled: true, totp_enabled: true },
    })
    await page.getByRole('switch', { name: 'Passkeys' }).check()
    const stored = () =>
      app.sql(`select value -> 'webauthn_enabled' as on, value -> 'totp_enabled' as other
        from basalt.settings where key = 'auth'`)
    await expect.poll(stored).toEqual([{ on: true, other: true }])
    await page.getByRole('link', { name: 'GitHub' }).click()
    await page.getByText(`${app.url}/api/auth/oauth/github/callback`).waitFor()
    await page.getByRole('button', { name: 'Test' }).click()
    await page.getByText('client_id is not set').waitFor()
    await page.getByLabel('Users can sign in with this provider').check()
    await page.getByLabel('Client id').fill('an id')
    await page.getByLabel('Client secret').fill('a secret')
    await page.getByRole('button', { name: 'Save' }).click()
    await page
      .getByRole('row', { name: /GitHub/ })
      .getByText('on', { exact: true })
      .waitFor()
    await dashboard.expectAccessible()
    await dashboard.screenshot('sign-in')
    const change =
      await app.sql(`select value -> 'github' ->> 'client_id' as id, value::text like '%a secret%' as bare
      from basalt.settings where key = 'social_providers'`)
    expect(change).toEqual([{ id: 'an id', bare: false }])

    // Later, the secret is not shown, and is kept when the field is left empty.
    await page.reload()
    await page.getByRole('link', { name: 'GitHub' }).click()
    await page.getByText('Set. Leave empty to keep it. It is never shown.').waitFor()
    expect(await page.getByLabel('Client secret').inputValue()).toBe('')
    expect(await page.content()).not.toContain('a secret')
    const sealed = () =>
      app.sql(`select (value -> 'github') - 'client_id' as rest, value -> 'github' ->> 'client_id' as id
        from basalt.settings where key = 'social_providers'`)
    const [before] = await sealed()
    await page.getByLabel('Client id').fill('another id')
    await page.getByRole('button', { name: 'Save' }).click()
    await expect.poll(sealed).toEqual([{ ...before, id: 'another id' }])
  })

  test('edits, previews, sends and resets a mail template, without running it', async () => {
    const { app, page } = dashboard
    await dashboard.open('/mail/auth.magic_link')
    const preview = page.getByTitle('Mail preview')
    const source = async () => (await preview.getAttribute('srcdoc')) ?? ''
    await preview.contentFrame().getByRole('link', { name: 'Sign in' }).waitFor()
    await dashboard.screenshot('mail-template')
    const editor = page.getByRole('textbox', { name: 'HTML of the mail' })
    await editor.fill(
      `<h1 style="color:#ff0000;background:url(https://x.example/a)">Hi {{.AppName}}</h1><script>parent.alert(1)</script>
       <img src="https://x.example/pixel" alt="a pixel" onerror="alert(1)"><style>h1{margin:0}</style>`,
    )
    await page.getByLabel('AppName').fill('<i>A</i>')
    await expect.poll(source).toContain('Hi &lt;i&gt;A&lt;/i&gt;</h1>')
    expect(await source()).toContain('{color:#ff0000;background:none}')
    expect(await source()).toMatch(/h1\{margin:0\}/)
    expect(await source()).not.toMatch(/script|onerror|x\.example/)
    expect(await preview.getAttribute('sandbox')).toBe('')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    const stored = () => app.sql('select template_key from basalt.email_templates')
    await expect.poll(stored).toEqual([{ template_key: 'auth.magic_link' }])
    // Another administrator saves the template in the meantime.
    await app.sql(`update basalt.email_templates set subject_template = 'Other'`)
    await page.getByLabel('Subject').fill('Mine')
    await page.getByRole('button', { name: 'Save', exact: true }).click()
    await page.getByRole('alert').filter({ hasText: 'the template was changed since it was read' }).waitFor()
    const subject = () => app.sql('select subject_template as is from basalt.email_templates')
    expect(await subject()).toEqual([{ is: 'Other' }])
    await page.getByRole('button', { name: 'Overwrite with my changes' }).click()
    await expect.poll(subject).toEqual([{ is: 'Mine' }])
    await page.getByLabel('To', { exact: true }).fill('test@example.com')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    expect((await inbox.take('test@example.com')).html).toContain('Hi &lt;i&gt;')
    await page.getByRole('button', { name: 'Reset' }).click()
    await page.getByRole('button', { name: 'Delete custom template' }).click()
    await expect.poll(stored).toEqual([])
    await expect.poll(source).toContain('Sign in')
    // axe waits for a response of every frame, and no script runs in this one.
    await preview.evaluate((frame) => frame.remove())
    await dashboard.expectAccessible()
    await dashboard.open('/mail')
    await page.getByRole('link', { name: 'auth.invitation' }).waitFor()
    await dashboard.expectAccessible()
    await dashboard.screenshot('mail')
  })

  test('sends a text message', async () => {
    const { app, page } = dashboard
    await dashboard.open('/sms')
    await page.getByRole('button', { name: 'Send a test', exact: true }).click()
    await page.getByLabel('To').fill('+1 202 555 0143')
    await page.getByRole('textbox', { name: 'Text' }).fill('<b>hello</b>')
    await page.getByRole('button', { name: 'Send', exact: true }).click()
    await page.getByRole('cell', { name: '<b>hello</b>' }).waitFor()
    expect(await app.sql('select recipient, body from basalt.sms_messages')).toEqual([
      { recipient: '+12025550143', body: '<b>hello</b>' },
    ])
    await dashboard.expectAccessible()
    await dashboard.screenshot('sms')

    // On a phone the table is cut off and scrolls by keyboard. Elsewhere it is not a tab stop.
    const figures = page.getByRole('region', { name: 'Delivery' })
    expect(await figures.count()).toBe(0)
    await page.setViewportSize({ width: 390, height: 800 })
    await figures.focus()
    await dashboard.expectAccessible()
    await page.setViewportSize({ width: 1280, height: 800 })
  })
})
