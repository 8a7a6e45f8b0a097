import { readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { answer, type Receiver, startReceiver } from '../../../server/test/receiver.ts'
import { makeScratchDirectory } from '../../../server/test/scratch-directory.ts'
import { type Dashboard, journeys, openDashboard } from './journey.ts'

/** Journey of docs/guides/dashboard.md: each step leads to the next one by a link on the page. */
journeys('dashboard › path of the guide', () => {
  let dashboard: Dashboard
  let receiver: Receiver
  let folder: string

  beforeAll(async () => {
    folder = makeScratchDirectory('path-journey-')
    receiver = await startReceiver(answer(200, {}, 'thank you'))
    dashboard = await openDashboard({
      config: {
        'project.migrations': join(folder, 'migrations'),
        'project.policies': join(folder, 'policies'),
      },
    })
  })
  afterAll(async () => {
    await dashboard?.[Symbol.asyncDispose]()
    await receiver?.[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  })
  afterEach(() => dashboard.expectNoProblems())

  const dialog = () => dashboard.page.getByRole('dialog').last()
  const go = (name: string) =>
    dashboard.page.getByRole('navigation').first().getByRole('link', { name, exact: true }).click()
  const apply = async () => {
    await dialog().getByLabel('SQL of the change').waitFor()
    await dialog().getByRole('button', { name: 'Apply' }).click()
    await expect.poll(() => dashboard.page.getByRole('dialog').count()).toBe(0)
  }
  /** Creates a shared row with the form of the Tables screen. */
  const addSharedRow = async (values: Readonly<Record<string, string>>) => {
    const { page } = dashboard
    await page.getByRole('button', { name: 'New row' }).click()
    const form = page.getByRole('complementary', { name: 'New row of todo' })
    for (const [name, value] of Object.entries(values)) {
      await form.getByLabel(name, { exact: true }).fill(value)
    }
    await form.getByLabel('shared', { exact: true }).selectOption('true')
    await form.getByRole('button', { name: 'Add', exact: true }).click()
    await page.getByRole('button', { name: 'Apply', exact: true }).last().click()
    await page.getByText('1 change written.').waitFor()
    await page.getByRole('button', { name: 'Dismiss' }).last().click()
  }

  test('creates and protects a table, explains a missing row, fixes and tests the policy, and delivers an event', async () => {
    const { app, page } = dashboard
    await dashboard.open('/')

    // This step creates the table with a template policy.
    await page.getByRole('main').getByRole('link', { name: 'Structure' }).click()
    await page.getByRole('button', { name: 'Create a table' }).click()
    await page.getByRole('textbox', { name: 'Name', exact: true }).first().fill('todo')
    for (const [group, name] of [
      ['Column 4', 'title'],
      ['Column 5', 'shared'],
    ] as const) {
      await page.getByRole('button', { name: 'Add column' }).click()
      await page
        .getByRole('group', { name: group })
        .getByRole('textbox', { name: 'Name', exact: true })
        .fill(name)
    }
    const shared = page.getByRole('group', { name: 'shared' })
    await shared.getByLabel('Type').fill('boolean')
    await shared.getByLabel('Default').fill('false')
    await page.getByRole('button', { name: 'Review' }).click()
    await dialog().getByLabel('SQL of the change').waitFor()
    await dashboard.screenshot('path-review')
    await apply()
    await page.getByRole('heading', { name: 'public.todo' }).waitFor()

    // This step creates two users.
    const users: string[] = []
    for (const email of ['ada@example.com', 'ben@example.com']) {
      await go('Users')
      await page.getByRole('button', { name: 'Create or invite' }).click()
      await page.getByLabel('Method').selectOption('create')
      await page.getByRole('textbox', { name: 'Email' }).fill(email)
      await page.getByRole('button', { name: 'Create user' }).click()
      await page.getByRole('heading', { name: email }).waitFor()
      users.push(new URL(page.url()).pathname.split('/').at(-1) ?? '')
    }
    const [ada = ''] = users

    // This step creates a webhook that receives every change.
    await go('Webhooks')
    await page.getByRole('button', { name: 'New webhook' }).click()
    await page.getByLabel('URL').fill(receiver.url)
    await page.getByLabel('Tables').fill('todo')
    await page.getByRole('button', { name: 'Create webhook' }).click()
    await page.getByRole('button', { name: 'I have stored it' }).click()

    // Ada shares one of her rows.
    await go('Tables')
    await page.getByRole('navigation', { name: 'Tables' }).getByRole('link', { name: /^todo/ }).click()
    await addSharedRow({ owner_id: ada, title: 'Water the plants' })
    await dashboard.screenshot('path-rows')

    // Access explains why Bob does not see the row.
    await go('Users')
    await page.getByRole('link', { name: 'ben@example.com' }).click()
    await page.getByRole('link', { name: 'Why can’t they see it?' }).click()
    await page.getByLabel('Table').fill('todo')
    await page.getByRole('button', { name: 'Explain' }).click()
    await page
      .getByText(/does not see row 1/)
      .first()
      .waitFor()
    await dashboard.screenshot('path-access')

    // The missing policy is tried and turned into a migration.
    await page.getByRole('tab', { name: 'Try a policy' }).click()
    await page.getByLabel('Policy', { exact: true }).selectOption({ label: 'A new policy' })
    await page.getByLabel('Name', { exact: true }).fill('shared')
    await page.getByRole('textbox', { name: 'USING expression' }).fill('shared')
    await page.getByRole('button', { name: 'Show changes' }).click()
    await page.getByRole('cell', { name: '+1: 1' }).first().waitFor()
    await dashboard.screenshot('path-trial')
    const link = page.url()
    await page.getByRole('link', { name: 'Create a migration' }).click()
    await dialog().getByRole('button', { name: 'Review' }).click()
    await apply()
    expect(
      await app.sql(`
        select p.polcmd, array_agg(m.name ~ '_add_shared_to_todo.sql$' order by m.name) as "isStored"
        from pg_policy p, basalt.project_migrations m where p.polname = 'shared' group by p.polcmd`),
    ).toEqual([{ polcmd: 'r', isStored: [false, true] }])

    // Bob now sees the row, and a policy test of the project covers it.
    await page.goto(link)
    await page
      .getByText(/sees row 1/)
      .first()
      .waitFor()
    await page.getByRole('tab', { name: 'Save as a test' }).click()
    await page.getByRole('button', { name: 'Save in the project' }).click()
    await page.getByText('Saved as').waitFor()
    expect(readFileSync(join(folder, 'policies', 'todo-select.toml'), 'utf8')).toContain('may read')
    await dashboard.screenshot('path-save')

    // The event shows what followed from the write.
    await go('Events')
    await page.getByRole('link', { name: 'create todo 1' }).click()
    const line = page.getByRole('list', { name: 'Timeline' })
    await line.getByText('Delivered · 200').waitFor()
    await dashboard.screenshot('path-event')
    expect(receiver.received).toHaveLength(1)
    await line.getByRole('link', { name: 'todo' }).click()
    await page.getByRole('main').getByRole('link', { name: 'Structure' }).click()
    await page.getByRole('heading', { name: 'public.todo' }).waitFor()
  })
})
