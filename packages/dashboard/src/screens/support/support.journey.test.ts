import { text } from 'node:stream/consumers'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { alice } from '../../../../server/test/fixtures.ts'
import { userToken } from '../../../../server/test/test-app.ts'
import { type Dashboard, journeys, openDashboard } from '../../tests/journey.ts'

const secret = 'a-secret-of-the-gateway'
const address = 'user@example.com'

journeys('dashboard › support', () => {
  let dashboard: Dashboard
  beforeAll(async () => {
    dashboard = await openDashboard({
      config: {
        'support.enabled': 'true',
        'support.inbound_email_domain': 'support.example.com',
        'support.webhook_secret': secret,
      },
    })
    await dashboard.app.sql('insert into basalt.users (id, email) values ($1, $2)', [alice, address])
  })
  afterAll(() => dashboard?.[Symbol.asyncDispose]())
  afterEach(() => dashboard.expectNoProblems())

  test('downloads a mail attachment, and replies to the ticket', async () => {
    const { app, page } = dashboard
    const token = userToken({ sub: alice, email: address })
    const opened = await app.request('POST', '/api/support/tickets', {
      token,
      body: { subject: 'A picture', body: 'It does not load.' },
    })
    expect(opened.status).toBe(201)
    const form = new FormData()
    form.set('from', address)
    form.set('to', 'help@support.example.com')
    form.set('subject', `Re: [Ticket #${opened.json.id}] A picture`)
    form.set('text', 'See the file.')
    form.set('envelope', JSON.stringify({ from: address, to: ['help@support.example.com'] }))
    // A right-to-left name would reverse the text after it without isolation.
    form.set('attachment1', new Blob(['the log'], { type: 'text/html' }), 'שלום.html')
    const received = await fetch(`${app.url}/api/webhooks/support/email`, {
      method: 'POST',
      headers: { 'x-webhook-secret': secret },
      body: form,
    })
    expect(received.status).toBe(200)
    const { id } = await received.json()
    await app.sql(
      `update basalt.support_messages
       set attachments = attachments || '[{"filename": "film.mp4", "content_type": "video/mp4", "size": 26214401}]'
       where id = $1`,
      [id],
    )
    await dashboard.open('/support')
    await page.getByRole('link', { name: 'A picture' }).click()
    const listed = page.getByRole('list', { name: 'Attachments' }).getByRole('listitem')
    const [attachment, missing] = [listed.first(), listed.last()]
    await attachment.waitFor()
    expect(await missing.textContent()).toBe('film.mp4 (26.2 MB, not stored: the ticket is full)')
    expect(await missing.getByRole('link').count()).toBe(0)
    expect(await attachment.textContent()).toBe('שלום.html (7 B)')
    const isolated = attachment.locator('bdi')
    expect(await isolated.textContent()).toBe('שלום.html')
    await dashboard.expectAccessible()
    await dashboard.screenshot('ticket')
    const [download] = await Promise.all([page.waitForEvent('download'), isolated.click()])
    expect(await text(await download.createReadStream())).toBe('the log')
    await page.getByLabel('Reply').fill('Thank you.')
    await page.getByRole('button', { name: 'Reply' }).click()
    await page.getByText('Reply sent. A job mails it.').waitFor()
    expect(await app.sql('select status from basalt.support_tickets')).toEqual([{ status: 'answered' }])
  })
})
