import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { administratorPassword, inviteAdministrator } from '../../../../server/test/administrators.ts'
import { alice, notes } from '../../../../server/test/fixtures.ts'
import { functionArchive, functionFile } from '../../../../server/test/function-deploys.ts'
import { type FunctionsFolder, makeFunctionsFolder } from '../../../../server/test/functions-folder.ts'
import { createTestApp, type TestApp } from '../../../../server/test/test-app.ts'
import { type Dashboard, journeys, openDashboard } from '../../tests/journey.ts'

const shop = `import { before, FunctionError, route, schedule } from '@basaltdb/functions'

const input = {
  type: 'object',
  properties: { body: { type: 'string' }, quantity: { type: 'integer', minimum: 1 } },
} as const

/** Places an order. */
export const checkout = route('POST /orders/:shop', { access: 'user', input }, async (ctx, { body, quantity }) => {
  if (quantity > 3) throw new Error('only 3 in stock')
  const note = await ctx.db.note.create({ body, owner_id: ctx.user?.id ?? '${alice}' })
  ctx.log.info('order placed', { shop: ctx.params.shop, quantity })
  return { note, user: ctx.user?.email }
})

export const price = before('note', 'create', (_ctx, change) => {
  if (change.values.body === '') throw new FunctionError(422, 'an order needs a product')
})

export const nightly = schedule('0 3 * * *', { timezone: 'Europe/Berlin' }, () => {})
`

journeys('dashboard › functions', () => {
  let folder: FunctionsFolder
  let app: TestApp
  let token: string
  let dashboard: Dashboard
  beforeAll(async () => {
    folder = makeFunctionsFolder({ 'shop.ts': shop })
    app = await createTestApp({
      setup: `${notes}
        insert into basalt.users (id, email) values ('${alice}', 'alice@example.com')`,
      config: { 'functions.folder': folder.path, 'logging.level': 'info' },
    })
    token = await app.adminToken()
    await inviteAdministrator(app, 'viewer')
    dashboard = await openDashboard({ app })
  })
  afterAll(async () => {
    await dashboard?.[Symbol.asyncDispose]()
    await app?.[Symbol.asyncDispose]()
    folder?.[Symbol.dispose]()
  })
  afterEach(() => dashboard.expectNoProblems())

  test('lists functions, and runs one as a user: rolled back, and committed with a reason', async () => {
    const { page } = dashboard
    await dashboard.open('/functions')
    await page.getByText('POST /api/functions/orders/:shop').waitFor()
    await page.getByText('0 3 * * * Europe/Berlin').waitFor()
    await dashboard.screenshot('functions')
    await dashboard.expectAccessible()

    await page.getByRole('link', { name: 'checkout' }).click()
    const run = page.getByRole('button', { name: 'Run', exact: true })
    await run.waitFor()
    await page.getByLabel(':shop').fill('north')
    await page.getByLabel('Input').fill('{"body": "tea", "quantity": 2')
    await page.getByText('Expected a JSON value.').waitFor()
    expect(await run.isDisabled()).toBe(true)
    await page.getByLabel('Input').fill('{"body": "tea", "quantity": 2}')
    await page.getByLabel('Run as').selectOption('user')
    await page.getByLabel('User', { exact: true }).fill('alice@example.com')
    await run.click()
    const result = page.getByRole('region', { name: 'Result of the run' })
    await result.getByText('rolled back').waitFor()
    await result.getByText('"user": "alice@example.com"').waitFor()
    await result.getByText('POST /api/collections/note').waitFor()
    await result.getByText('order placed {"shop":"north","quantity":2}').waitFor()
    await dashboard.screenshot('functions-run')
    await dashboard.expectAccessible()
    expect(await app.sql('select body from note')).toEqual([])

    await page.getByLabel('Commit what the function writes').check()
    expect(await run.isDisabled()).toBe(true)
    await page.getByLabel('Reason').fill('ticket 17')
    await run.click()
    await result.getByText('committed').waitFor()
    expect(await app.sql('select body, owner_id from note')).toEqual([{ body: 'tea', owner_id: alice }])
    expect(
      await app.sql("select detail ->> 'reason' as reason from basalt.audit where detail ? 'reason'"),
    ).toEqual([{ reason: 'ticket 17' }])
  })

  test('shows errors with the lines of the source, and the log live', async () => {
    const { page } = dashboard
    const call = (quantity: number) =>
      app.request('POST', '/api/functions/orders/north', { token, body: { body: 'tea', quantity } })
    await call(9)
    await dashboard.open('/functions/errors')
    await page.getByRole('button', { name: 'only 3 in stock' }).click()
    const source = page.getByRole('region', { name: 'Source of shop.ts' })
    await source.getByText("throw new Error('only 3 in stock')").waitFor()
    expect(await source.locator('[data-current]').textContent()).toContain('quantity > 3')
    await dashboard.screenshot('functions-error')
    await dashboard.expectAccessible()

    await dashboard.open('/functions/log?function=checkout')
    await page.getByRole('switch', { name: 'Live', exact: true }).waitFor()
    await call(1)
    await page.getByText('order placed').first().waitFor()
    await dashboard.screenshot('functions-log')
    await dashboard.expectAccessible()
    await page.getByLabel('Level').selectOption('error')
    await page.getByText('request failed: only 3 in stock').waitFor()
    await page.getByText('order placed').first().waitFor({ state: 'detached' })

    // Other entries that name the function fill the first page.
    await app.sql(`insert into basalt.logs (logged_at, level, message, attrs, node)
      select now(), 30, 'other', '{"function": "checkout"}', 'one/1' from generate_series(1, 110)`)
    await dashboard.open('/functions/log?function=checkout&live=0')
    await page.getByText('No entries match so far.').waitFor()
    await page.getByRole('button', { name: 'Load more' }).click()
    await page.getByText('order placed').first().waitFor()
  })

  test('shows code that cannot be loaded, with its line', async () => {
    const { page } = dashboard
    folder.write('broken.ts', 'export const a = 1\nexport const b: number = ;\n')
    await expect(app.app.functions.loadFolder(folder.path)).rejects.toThrow()
    await dashboard.open('/functions')
    const alert = page.getByRole('alert')
    await alert.getByText('could not be loaded').waitFor()
    await page.getByText('Expression expected').waitFor()
    await page.getByRole('region', { name: 'Source of broken.ts' }).waitFor()
    await dashboard.screenshot('functions-broken')
    await dashboard.expectAccessible()
    folder.remove('broken.ts')
    await app.app.functions.loadFolder(folder.path)
    await alert.waitFor({ state: 'detached' })
  })

  test('sets and removes secrets', async () => {
    const { page } = dashboard
    await dashboard.open('/functions/secrets')
    await page.getByRole('button', { name: 'Set the first secret' }).click()
    await page.getByLabel('Name', { exact: true }).fill('PAYMENT_KEY')
    await page.getByLabel('Value').fill('short')
    await page.getByRole('button', { name: 'Set secret' }).click()
    await page.getByText('invalid value; expected a text of 8 to 32,768 characters').waitFor()
    await page.getByLabel('Value').fill('sk_live_4242424242')
    await page.getByRole('button', { name: 'Set secret' }).click()
    await page.getByRole('cell', { name: 'PAYMENT_KEY', exact: true }).waitFor()
    await dashboard.screenshot('functions-secrets')
    await dashboard.expectAccessible()
    await page.getByRole('button', { name: 'Remove PAYMENT_KEY' }).click()
    await page.getByLabel('Type PAYMENT_KEY to confirm').fill('PAYMENT_KEY')
    await page.getByRole('button', { name: 'Remove secret' }).click()
    await page.getByText('No secrets yet').waitFor()
  })

  test('makes deploys live, and rolls back', async () => {
    const { page } = dashboard
    const hashes: string[] = []
    for (const text of ['// one\n', '// two\n']) {
      const files = [functionFile(text, 'functions/orders.ts')]
      const made = await app.request('POST', '/api/admin/functions/deploys', { token, body: { files } })
      await app.request('POST', '/api/admin/functions/files', {
        token,
        headers: { 'content-type': 'application/x-tar' },
        body: functionArchive([text]).toString('latin1'),
      })
      hashes.push(made.json.deploy.hash.slice(0, 12))
    }
    const [one, two] = hashes
    await dashboard.open('/functions/deploys')
    for (const hash of [one, two]) {
      await page.getByRole('button', { name: `Make live ${hash}` }).click()
      await page.getByRole('dialog').getByRole('button', { name: 'Make live' }).click()
      await page
        .getByRole('row', { name: hash ?? '' })
        .getByText('live', { exact: true })
        .waitFor()
    }
    await dashboard.screenshot('functions-deploys')
    await dashboard.expectAccessible()
    await page.getByRole('button', { name: 'Roll back' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Roll back' }).click()
    await page
      .getByRole('row', { name: one ?? '' })
      .getByText('live', { exact: true })
      .waitFor()
  })

  test('shows a viewer neither code nor messages, and no actions', async () => {
    await using viewer = await openDashboard({ app, isSignedIn: false })
    const { page } = viewer
    const body = { email: 'viewer@example.com', password: administratorPassword }
    expect((await viewer.context.request.post('/api/admin/session', { data: body })).status()).toBe(200)
    await viewer.open('/functions/errors')
    await page.getByRole('cell', { name: 'checkout' }).first().waitFor()
    expect(await page.getByText('only 3 in stock').count()).toBe(0)
    const tabs = page.getByRole('navigation', { name: 'Functions' })
    await tabs.getByRole('link', { name: 'Deploys' }).click()
    await page.getByRole('cell', { name: 'orders.ts' }).first().waitFor()
    expect(await page.getByRole('button', { name: /Roll back|Make live/ }).count()).toBe(0)
    expect(await tabs.getByRole('link').allTextContents()).toEqual(['Functions', 'Errors', 'Deploys'])
    await viewer.expectAccessible()
    await viewer.open('/functions/secrets')
    await page.getByText('Your role has no access to this screen.').waitFor()
    viewer.expectNoProblems()
  })
})
