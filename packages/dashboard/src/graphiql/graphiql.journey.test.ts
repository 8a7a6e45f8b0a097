import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { userToken } from '../../../server/test/test-app.ts'
import { type Dashboard, type DashboardOptions, journeys, openDashboard } from '../tests/journey.ts'
import { readLink } from './link.ts'

const alice = '11111111-1111-4111-8111-111111111111'
const setup = `
  create table project (id int primary key, name text not null);
  create table task (id int primary key, owner_id uuid, project_id int references project, title text not null);
  comment on table task is 'Plans **and** <img src=x onerror=alert(1)>';
  alter table task enable row level security;
  create policy own on task using (owner_id = basalt.user_id());
  revoke all on project from basalt_authenticated;
  insert into project values (1, 'House');
  insert into task values (1, '${alice}', 1, 'Paint'), (2, null, 1, 'Sweep');`
const page = '/api/docs/graphql'

/** Opens a test app and its browser, which records violations of the policy and the origins of all requests. */
async function openGraphiql(options: DashboardOptions) {
  const dashboard = await openDashboard({ setup, ...options })
  await dashboard.page.addInitScript(`
    window.violations = []
    addEventListener('securitypolicyviolation', (event) => violations.push(event.violatedDirective + ' ' + event.blockedURI))`)
  const origins = new Set<string>()
  dashboard.page.on('request', (request) => origins.add(new URL(request.url()).origin))
  return { dashboard, origins }
}

const regionOf = (dashboard: Dashboard, name: string) =>
  dashboard.page.getByRole('region', { name, exact: true })
const resultOf = (dashboard: Dashboard) => regionOf(dashboard, 'Result Window').locator('.CodeMirror-code')
const stateOf = (dashboard: Dashboard) => dashboard.page.locator('p[role="status"]')

async function write(dashboard: Dashboard, region: string, text: string): Promise<void> {
  await regionOf(dashboard, region).locator('.CodeMirror:visible').click()
  await dashboard.page.keyboard.press('ControlOrMeta+a')
  await dashboard.page.keyboard.insertText(text)
}

async function run(dashboard: Dashboard, query: string): Promise<void> {
  await write(dashboard, 'Query Editor', query)
  // GraphiQL reads the names of the operations once typing pauses, before the address changes.
  await expect.poll(() => readLink(new URL(dashboard.page.url()).hash).query).toBe(query)
  await dashboard.page.keyboard.press('ControlOrMeta+Enter')
}

journeys('API page › GraphQL', () => {
  let opened: Awaited<ReturnType<typeof openGraphiql>>
  beforeAll(async () => {
    opened = await openGraphiql({})
  })
  afterAll(() => opened?.dashboard[Symbol.asyncDispose]())
  afterEach(async () => {
    const { dashboard, origins } = opened
    expect(await dashboard.page.evaluate('violations')).toEqual([])
    expect([...origins]).toEqual([new URL(dashboard.page.url()).origin])
    dashboard.expectNoProblems()
  })

  test('opens at its tab, completes names of the schema and runs a query as administrator', async () => {
    const { dashboard } = opened
    await dashboard.page.goto('/api/docs')
    await dashboard.page.getByRole('link', { name: 'GraphQL', exact: true }).click()
    await expect.poll(() => stateOf(dashboard).textContent()).toContain('Requests run as administrator.')
    expect(new URL(dashboard.page.url()).pathname).toBe(page)
    // Swagger UI, on the other tab, parses descriptions before it sanitizes them. The policy reports their handlers.
    dashboard.expectNoProblems(/^Executing inline event handler/)

    await write(dashboard, 'Query Editor', '{ ta')
    await dashboard.page.keyboard.press('Control+Space')
    await dashboard.page.locator('.CodeMirror-hint', { hasText: 'task_by_pk' }).waitFor()
    await dashboard.page.keyboard.press('Escape')

    await run(dashboard, '{ task(order_by: {id: ASC}) { title project { name } } }')
    await expect.poll(() => resultOf(dashboard).textContent()).toContain('"Sweep"')
    expect(await resultOf(dashboard).textContent()).toContain('"Paint"')
  })

  test('shows the documentation of the schema, and its history', async () => {
    const { dashboard } = opened
    await dashboard.page.getByRole('button', { name: 'Show Documentation Explorer' }).click()
    const documentation = regionOf(dashboard, 'Documentation Explorer')
    await documentation.getByRole('link', { name: 'Query', exact: true }).click()
    await documentation.getByRole('link', { name: 'task', exact: true }).first().click()
    await documentation.getByText('Plans and <img src=x onerror=alert(1)>').waitFor()
    await dashboard.screenshot('graphiql')
    // Tabs of GraphiQL contain buttons, and its editors scroll without a tab stop beside their text field.
    await dashboard.expectAccessible('nested-interactive', 'scrollable-region-focusable')

    await dashboard.page.getByRole('button', { name: 'Open settings dialog' }).click()
    await dashboard.page.getByRole('dialog', { name: 'Settings' }).getByText('Theme').waitFor()
    await dashboard.page.keyboard.press('Escape')
    await dashboard.page.getByRole('button', { name: 'Show History' }).click()
    await regionOf(dashboard, 'History')
      .getByText(/order_by.*title/)
      .waitFor()
  })

  test('has a link that opens the document with its variables', async () => {
    const { dashboard } = opened
    await run(dashboard, 'query Titles($n: Int) { task(limit: $n, order_by: {id: DESC}) { title } }')
    await dashboard.page.getByRole('button', { name: 'Variables' }).click()
    await write(dashboard, 'Variables', '{"n": 1}')
    await expect.poll(() => new URL(dashboard.page.url()).hash).toContain('variables=')
    const link = dashboard.page.url()

    await dashboard.page.goto('/')
    await dashboard.page.evaluate('localStorage.clear()')
    await dashboard.page.goto(link)
    await expect.poll(() => stateOf(dashboard).textContent()).toContain('Requests run as administrator.')
    await dashboard.page.getByRole('button', { name: /^Execute query/ }).click()
    await expect.poll(() => resultOf(dashboard).textContent()).toContain('"Sweep"')
    expect(await resultOf(dashboard).textContent()).not.toContain('"Paint"')
  })

  test('runs as the user of a token, with the schema of that user, and stores the token nowhere', async () => {
    const { dashboard } = opened
    const token = userToken({ sub: alice })
    await dashboard.page.goto(page)
    await dashboard.page.getByRole('button', { name: 'Headers' }).click()
    await write(dashboard, 'Headers', JSON.stringify({ Authorization: `Bearer ${token}` }))
    await expect.poll(() => stateOf(dashboard).textContent()).toBe('Requests have the token under Headers.')
    await run(dashboard, '{ task { title } }')
    await expect.poll(() => resultOf(dashboard).textContent()).toContain('"Paint"')
    expect(await resultOf(dashboard).textContent()).not.toContain('"Sweep"')
    // The user may not read projects, so the schema of the editor has none.
    await run(dashboard, '{ project { name } }')
    await regionOf(dashboard, 'Query Editor').locator('.CodeMirror-lint-mark-error').first().waitFor()

    await expect.poll(() => new URL(dashboard.page.url()).hash).toContain('project')
    expect(await dashboard.page.evaluate('JSON.stringify(localStorage)')).toContain('project')
    expect(await dashboard.page.evaluate('JSON.stringify(localStorage)')).not.toContain(token)
    expect(dashboard.page.url()).not.toContain(token)
  })

  test('reads the schema anew when the token is removed', async () => {
    const { dashboard } = opened
    await write(dashboard, 'Headers', '{}')
    await expect.poll(() => stateOf(dashboard).textContent()).toContain('Requests run as administrator.')
  })

  test('requires a sign-in or a token', async () => {
    const { dashboard } = opened
    await dashboard.context.clearCookies()
    await dashboard.page.goto(page)
    await expect
      .poll(() => stateOf(dashboard).textContent())
      .toContain('Sign in to the dashboard, or set a token under Headers.')
  })
})

journeys('API page › GraphQL without a schema', () => {
  test.each([
    [
      { 'graphql.introspection': 'disabled' },
      'graphql.introspection is "disabled": there are no completions and no documentation.',
      '"Paint"',
    ],
    [
      { 'graphql.persisted': 'only' },
      'graphql.persisted is "only": the server refuses every document that is not listed',
      'the document is not listed',
    ],
  ])('explains %j and still sends documents', async (config, state, result) => {
    const { dashboard } = await openGraphiql({ config })
    await using _closed = dashboard
    await dashboard.page.goto(page)
    await expect.poll(() => stateOf(dashboard).textContent()).toContain(state)
    await run(dashboard, '{ task { title } }')
    await expect.poll(() => resultOf(dashboard).textContent()).toContain(result)
    expect(await dashboard.page.evaluate('violations')).toEqual([])
    dashboard.expectNoProblems()
  })
})
