import { text } from 'node:stream/consumers'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { testAdminPassword } from '../../../../server/test/test-config.ts'
import { type Dashboard, journeys, openDashboard } from '../../tests/journey.ts'

journeys('dashboard › SQL', () => {
  let dashboard: Dashboard
  beforeAll(async () => {
    dashboard = await openDashboard({
      isSignedIn: false,
      setup: `
        create table track (id int primary key, name text, price numeric);
        insert into track select n, 'track ' || n, n * 1.5 from generate_series(1, 20000) n;
        analyze track;`,
    })
  })
  afterAll(() => dashboard?.[Symbol.asyncDispose]())
  afterEach(() => dashboard.expectNoProblems())

  const editor = () => dashboard.page.getByRole('textbox', { name: 'SQL' })
  const button = (name: string) => dashboard.page.getByRole('button', { name, exact: true })
  const runs = () => dashboard.page.getByRole('table', { name: 'Past queries' }).getByRole('row')
  const tab = (name: string) => dashboard.page.getByRole('tab', { name })

  async function write(script: string): Promise<void> {
    // A test that runs alone has no page of a previous test.
    if (!dashboard.page.url().includes('/admin/sql')) {
      await dashboard.signIn()
      await dashboard.open('/sql')
    }
    await editor().press('ControlOrMeta+a')
    await dashboard.page.keyboard.press('Backspace')
    await dashboard.page.keyboard.insertText(script)
    await dashboard.page.keyboard.press('Escape')
    await expect.poll(() => editor().textContent()).toContain(script.split('\n').at(-1))
  }

  test('signs in, refuses a write until writes are enabled, and writes the row', async () => {
    const { app, page } = dashboard
    await dashboard.open('/sql')
    await page.getByLabel('Password').fill(testAdminPassword)
    await page.keyboard.press('Enter')
    await write("insert into track values (0, 'new', 1)")
    await button('Run').click()
    await page.getByText('cannot execute INSERT in a read-only transaction').waitFor()
    await page.getByText('Hint: The run is read-only. Owners and developers may set mode to write.').waitFor()
    await page.getByRole('switch', { name: 'Allow writes' }).click()
    await button('Run').click()
    await page.getByText('INSERT 0 1').waitFor()
    await expect.poll(() => app.sql('select name from track where id = 0')).toEqual([{ name: 'new' }])
    await page.getByRole('switch', { name: 'Allow writes' }).click()
  })

  test('types over lines and in brackets around a selection, without styles that the policy refuses', async () => {
    const { page } = dashboard
    await write('select 1\nfrom track;\nselect 2')
    await editor().press('ControlOrMeta+a')
    await page.keyboard.type('abc')
    await expect.poll(() => editor().textContent()).toBe('abc')
    await editor().press('ControlOrMeta+a')
    await page.keyboard.type('(')
    await expect.poll(() => editor().textContent()).toBe('(abc)')
    await editor().press('ControlOrMeta+z')
    await editor().press('ControlOrMeta+z')
    await expect.poll(() => editor().textContent()).toContain('from track;')
  })

  test('runs the statement at the cursor or all, with parameters, and shows hostile values as text', async () => {
    const { page } = dashboard
    await write("select $1::int + 1 as sum;\nselect '<img src=x onerror=alert(1)>' as html, null as nothing")
    await page.getByRole('textbox', { name: '$1' }).fill('41')
    await editor().press('Control+Home')
    await page.keyboard.press('Control+Enter')
    await page.getByRole('gridcell', { name: '42', exact: true }).waitFor()
    expect(await tab('Result 2').count()).toBe(0)
    await button('Run all').click()
    await tab('Result 2').click()
    await page.getByRole('gridcell', { name: '<img src=x onerror=alert(1)>' }).waitFor()
    await dashboard.expectAccessible()
    await dashboard.screenshot('sql')
  })

  test('shows that there are more rows, exports them and draws a chart', async () => {
    const { page } = dashboard
    await write('select id, price from track where id > 0 order by id')
    await button('Run').click()
    await page.getByText('First 1,000 rows').waitFor()
    await button('Run for 10,000 rows').click()
    await page.getByText('First 10,000 rows').waitFor()
    await button('Export').click()
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('menuitem', { name: 'CSV', exact: true }).click(),
    ])
    const lines = (await text(await download.createReadStream())).split('\r\n')
    expect([lines.length, ...lines.slice(0, 2)]).toEqual([10_002, 'id,price', '1,1.5'])
    await button('Chart').click()
    await page.getByRole('img', { name: 'price over id' }).waitFor()
    await dashboard.screenshot('sql-chart')
  })

  test('marks the position of an error in the text', async () => {
    const { page } = dashboard
    await write('select 1;\n\nselect nme from track')
    await page.keyboard.press('Control+Enter')
    await page.getByText('column "nme" does not exist').waitFor()
    await page.getByText('line 3 · SQLSTATE 42703').waitFor()
    expect(await page.getByTitle('The error is here').textContent()).toBe('nme')
    await dashboard.screenshot('sql-error')
  })

  test('inserts names from the schema, and moves the line below the editor by keys', async () => {
    const { page } = dashboard
    await write('select from track')
    for (let step = 0; step < 'from track'.length + 1; step += 1) await editor().press('ArrowLeft')
    await page.getByRole('searchbox', { name: 'Find a table' }).fill('tra')
    await page.getByRole('complementary', { name: 'Schema' }).getByText('track').click()
    await button('Insert price').press('Enter')
    await expect.poll(() => editor().textContent()).toBe('selectprice,  from track')
    const splitter = page.getByRole('separator', { name: 'Height of the editor' })
    const height = async () =>
      (await editor().locator('xpath=ancestor::*[@role="tabpanel"]').boundingBox())?.height
    const before = (await height()) ?? 0
    await splitter.press('ArrowDown')
    expect(await splitter.getAttribute('aria-valuenow')).toBe('50')
    expect(await height()).toBeGreaterThan(before)
  })

  test('keeps its tabs in the database', async () => {
    const { app, page } = dashboard
    await write('select 1 as first')
    await button('New tab').click()
    await write('select 2 as second')
    const stored = async () => {
      const [row] = await app.sql("select value from basalt.settings where key like 'sql_tabs %'")
      return Object.values(row?.value ?? {})
    }
    await expect.poll(stored).toEqual(['select 1 as first', 'select 2 as second'])
    await dashboard.open('/sql')
    await expect.poll(() => editor().textContent()).toBe('select 2 as second')
    await tab('select 1 as first').click()
    await expect.poll(() => editor().textContent()).toBe('select 1 as first')
    await dashboard.expectAccessible()
    await button('Close tab').click()
    await expect.poll(() => editor().textContent()).toBe('select 2 as second')
    await expect.poll(stored).toEqual(['select 2 as second'])
    await dashboard.open('/sql?text=select+3')
    await expect.poll(() => editor().textContent()).toBe('select 3')
    expect(await page.getByRole('tablist', { name: 'Queries' }).getByRole('tab').count()).toBe(2)
  })

  test('completes names without a violation of the content security policy', async () => {
    const { page } = dashboard
    await write('select ')
    await editor().press('End')
    await page.keyboard.type('* from tra')
    await page.getByRole('option', { name: 'track' }).waitFor()
    await page.keyboard.press('Enter')
    await expect.poll(() => editor().textContent()).toBe('select * from track')
  })

  test('explains a plan with its warnings', async () => {
    const { page } = dashboard
    await write("select * from track where name like '%9'")
    await button('Explain').click()
    await page.getByRole('menuitem', { name: 'Plan with execution (rolled back)' }).click()
    await page.getByText('Most expensive: Seq Scan on track, 100 % of the time.').waitFor()
    await page.getByText('Reads the whole table (20001 rows) to filter it').waitFor()
    await dashboard.expectAccessible()
    await dashboard.screenshot('sql-plan')
  })

  test('cancels a run', async () => {
    const { page } = dashboard
    await write('select pg_sleep(100)')
    await button('Run').click()
    await button('Cancel').click()
    await page.getByText('the run was canceled').waitFor()

    // This cancels a run before it has reached the server.
    const isCanceled = Promise.withResolvers<void>()
    await page.route('**/api/admin/sql', async (route) => {
      await isCanceled.promise
      // The page has aborted the request.
      await route.continue().catch(() => undefined)
    })
    await write('select pg_sleep(200)')
    await button('Run').click()
    await page.getByText('the run was canceled').waitFor({ state: 'hidden' })
    await button('Cancel').click()
    await page.getByText('the run was canceled').waitFor()
    isCanceled.resolve()
    await page.unroute('**/api/admin/sql')
  })

  test('saves queries, and shows a conflict when another administrator has changed one', async () => {
    const { app, page } = dashboard
    await write('select 1 as one')
    await button('Saved').click()
    await page.getByRole('textbox', { name: 'Name' }).fill('reports/one')
    await button('Save').click()
    await page.getByRole('heading', { name: 'SQL · reports/one' }).waitFor()
    await app.sql("update basalt.saved_queries set query = 'select 2', version = version + 1")
    await button('Save changes').click()
    await page.getByText('Another administrator has changed this query.').waitFor()
    await dashboard.expectAccessible()
    await dashboard.screenshot('sql-saved')
    await button('Overwrite the other version').click()
    await expect
      .poll(() => app.sql('select name, query, version from basalt.saved_queries'))
      .toEqual([{ name: 'reports/one', query: 'select 1 as one', version: 3 }])
    await button('Close panel').click()
  })

  test('reads a long query in full when it is opened, from the saved queries and the history, and deletes it', async () => {
    const { app, page } = dashboard
    const end = `as the_end`
    await app.sql(`insert into basalt.saved_queries (name, query)
      values ('reports/long', 'select ' || repeat('1 + ', 500) || '1 ${end}')`)
    await button('Saved').click()
    await page.getByRole('searchbox', { name: 'Search names' }).fill('LONG')
    await expect.poll(() => button('one').count()).toBe(0)
    await button('long').click()
    await page.getByRole('heading', { name: 'SQL · reports/long' }).waitFor()
    await button('Delete reports/long').click()
    await button('Delete').click()
    await expect
      .poll(() => app.sql(`select name from basalt.saved_queries where name like '%long'`))
      .toEqual([])
    await button('Close panel').click()
    await button('Run').click()
    await page.getByRole('gridcell', { name: '501', exact: true }).waitFor()
    await write('select 0')
    await button('History').click()
    await page.getByRole('searchbox', { name: 'Search queries' }).fill(end)
    await expect.poll(() => runs().count()).toBe(2)
    await page.getByText('2,019 characters').waitFor()
    await dashboard.screenshot('sql-history')
    await button('Open').click()
    await button('Close panel').click()
    await expect.poll(() => editor().textContent()).toContain(end)
  })

  test('finds a query in the history and opens it', async () => {
    const { page } = dashboard
    await button('History').click()
    await page.getByRole('searchbox', { name: 'Search queries' }).fill('nme')
    await expect.poll(() => runs().count()).toBe(2)
    await button('Open').click()
    await button('Close panel').click()
    await expect.poll(() => editor().textContent()).toBe('select nme from track')
  })

  test('keeps the text when the session ends, and runs it after the next sign-in', async () => {
    const { app, context, page } = dashboard
    await write("select 'still here' as text")
    await app.sql('delete from basalt.admin_sessions')
    const headers = { 'x-basalt-dashboard': '1' }
    // Other endpoints may cache the token for a second longer.
    const statusOfTables = async () => (await context.request.get('/api/admin/tables', { headers })).status()
    await expect.poll(statusOfTables).toBe(401)
    await button('Run').click()
    await page.getByLabel('Password').fill(testAdminPassword)
    await page.keyboard.press('Enter')
    await page.getByRole('gridcell', { name: 'still here' }).waitFor()
    expect(await editor().textContent()).toBe("select 'still here' as text")
  })
})
