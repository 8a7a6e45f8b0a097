import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { administratorPassword, inviteAdministrator } from '../../../server/test/administrators.ts'
import { createTestApp, type TestApp } from '../../../server/test/test-app.ts'
import { type Dashboard, journeys, openDashboard } from './journey.ts'

/** Expectations by role: screens in the navigation and missing there, and addresses without access. */
const roles = {
  owner: { sees: ['Tables', 'SQL', 'Users', 'Webhooks', 'Jobs', 'Settings'], lacks: [], refused: [] },
  developer: {
    sees: ['Tables', 'SQL', 'Users', 'Jobs', 'Settings'],
    lacks: ['Webhooks'],
    refused: ['/webhooks', '/administrators', '/sign-in-settings'],
  },
  support: {
    sees: ['Tables', 'SQL', 'Access', 'Users', 'Events', 'Jobs'],
    lacks: ['Webhooks', 'Settings'],
    refused: ['/webhooks', '/settings', '/administrators'],
  },
  viewer: {
    sees: ['Tables', 'Structure', 'Users', 'Events', 'Jobs', 'Logs'],
    lacks: ['SQL', 'Access', 'Webhooks', 'Settings'],
    refused: ['/sql', '/access', '/audit', '/settings', '/administrators'],
  },
} as const

type Role = keyof typeof roles

journeys('dashboard › roles', () => {
  let app: TestApp

  beforeAll(async () => {
    app = await createTestApp({
      setup: `
        create table person (id int primary key, name text, email text);
        comment on column person.email is '@personal';
        insert into person values (1, 'Ann', 'ann@hidden.example');
        insert into basalt.users (id, email) values ('11111111-1111-4111-8111-111111111111', 'ann@hidden.example')`,
    })
    for (const role of Object.keys(roles)) await inviteAdministrator(app, role)
  })
  afterAll(async () => await app?.[Symbol.asyncDispose]())

  for (const role of Object.keys(roles) as Role[]) {
    const { sees, lacks, refused } = roles[role]

    journeys(role, () => {
      let dashboard: Dashboard
      const isViewer = role === 'viewer'
      const mayWrite = role === 'owner' || role === 'developer'

      beforeAll(async () => {
        dashboard = await openDashboard({ app, isSignedIn: false })
        const answer = await dashboard.context.request.post('/api/admin/session', {
          data: { email: `${role}@example.com`, password: administratorPassword },
        })
        expect(answer.status()).toBe(200)
      })
      afterAll(async () => await dashboard?.[Symbol.asyncDispose]())
      afterEach(() => dashboard.expectNoProblems(/40[0-9]/))

      test('shows the screens of the role, and no others', async () => {
        const { page } = dashboard
        await dashboard.open('/')
        const screens = page.getByRole('navigation', { name: 'Screens' })
        for (const name of sees) await screens.getByRole('link', { name, exact: true }).waitFor()
        for (const name of lacks) {
          expect([name, await screens.getByRole('link', { name, exact: true }).count()]).toEqual([name, 0])
        }
        for (const path of refused) {
          await dashboard.open(path)
          await page.getByText('Your role has no access to this screen.').waitFor()
        }
      })

      test('shows rows and users as the role may read them', async () => {
        const { page } = dashboard
        await dashboard.open('/tables/person')
        await page.getByText('Ann', { exact: true }).waitFor()
        expect((await page.getByText('ann@hidden.example').count()) > 0).toBe(!isViewer)
        expect(await page.getByRole('button', { name: 'New row' }).count()).toBe(mayWrite ? 1 : 0)
        await dashboard.open('/users')
        await page.getByText(isViewer ? 'a***@***' : 'ann@hidden.example').waitFor()
        expect(await page.getByLabel('Search by email, phone, name or id').count()).toBe(isViewer ? 0 : 1)
        const create = page.getByRole('button', { name: 'Create or invite' })
        expect(await create.count()).toBe(mayWrite ? 1 : 0)
        await dashboard.expectAccessible()
      })

      test('offers the changes of the role, and no others', async () => {
        const { page } = dashboard
        const expectButtons = async (name: string, count: number) =>
          expect([name, await page.getByRole('button', { name, exact: true }).count()]).toEqual([name, count])
        await dashboard.open('/structure/tables/public/person')
        await expectButtons('Add column', mayWrite ? 1 : 0)
        await expectButtons('Drop email', mayWrite ? 1 : 0)
        await expectButtons('More', mayWrite ? 1 : 0)
        await page.getByRole('tab', { name: 'Policies' }).click()
        await page.getByText('No policies yet.').waitFor()
        // One above the list, and one of the empty list.
        await expectButtons('Use a template', mayWrite ? 2 : 0)
        await expectButtons('Change privileges', role === 'owner' ? 1 : 0)
        await page.getByRole('tab', { name: 'Triggers' }).click()
        await page.getByText('No triggers yet.').waitFor()
        await expectButtons('Create the first trigger', role === 'owner' ? 1 : 0)
        await dashboard.open('/api-keys')
        await page.getByText('No API keys yet.').waitFor()
        await expectButtons('Create the first key', mayWrite ? 1 : 0)
        await dashboard.open('/mail')
        await page.getByRole('tab', { name: 'Templates' }).waitFor()
        expect(await page.getByRole('tab', { name: 'Sent by users' }).count()).toBe(isViewer ? 0 : 1)
        await dashboard.open('/structure/new')
        expect(await page.getByRole('heading', { name: 'Create a table' }).count()).toBe(mayWrite ? 1 : 0)
        if (mayWrite) {
          const templates = page.getByLabel('Access to rows').getByRole('option')
          expect(await templates.filter({ hasText: 'Everyone reads' }).count()).toBe(role === 'owner' ? 1 : 0)
        }
      })
    })
  }

  test('support views rows as a user with a reason', async () => {
    await using dashboard = await openDashboard({ app, isSignedIn: false })
    const { page } = dashboard
    await dashboard.context.request.post('/api/admin/session', {
      data: { email: 'support@example.com', password: administratorPassword },
    })
    await dashboard.open('/tables/person')
    await page.getByRole('button', { name: 'Rows' }).click()
    await page.getByRole('menuitem', { name: 'View as a user…' }).click()
    const view = page.getByRole('button', { name: 'View as ann@hidden.example' })
    await view.waitFor()
    expect(await view.isDisabled()).toBe(true)
    await page.getByLabel('Reason').fill('ticket 17')
    await view.click()
    await page.getByText('read as 11111111-1111-4111-8111-111111111111').waitFor()
    await expect
      .poll(() =>
        app.sql("select detail ->> 'reason' as reason from basalt.audit where action = 'tables.view_as'"),
      )
      .toEqual([{ reason: 'ticket 17' }])
  })

  test('developers add a column by its form, and send no SQL', async () => {
    await using dashboard = await openDashboard({ app, isSignedIn: false })
    const { page } = dashboard
    await dashboard.context.request.post('/api/admin/session', {
      data: { email: 'developer@example.com', password: administratorPassword },
    })
    await dashboard.open('/structure/tables/public/person')
    await page.getByRole('button', { name: 'Add column' }).click()
    await page.getByLabel('Name', { exact: true }).fill('city')
    await page.getByRole('button', { name: 'Review' }).click()
    await page.getByText('alter table public.person add column city').first().waitFor()
    expect(await page.getByRole('textbox', { name: 'SQL of the change' }).count()).toBe(0)
    await page.getByRole('button', { name: 'Apply', exact: true }).click()
    await expect
      .poll(() =>
        app.sql(
          "select attname::text as name from pg_attribute where attrelid = 'person'::regclass and attname = 'city'",
        ),
      )
      .toEqual([{ name: 'city' }])
  })
})
