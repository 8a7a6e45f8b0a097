import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type Dashboard, journeys, openDashboard } from '../../tests/journey.ts'

journeys('dashboard › structure', () => {
  let dashboard: Dashboard

  beforeAll(async () => {
    dashboard = await openDashboard({
      config: { 'project.migrations': '/nowhere/migrations' },
      setup: `
        create table legacy (id int, title text);
        insert into legacy select n, '<img src=x onerror=alert(1)>' from generate_series(1, 3) n;
        create view titles as select title from legacy;
        create table author (code varchar(8) primary key);
        alter table author enable row level security;
        create table measure (at date) partition by range (at);
        alter table measure enable row level security;
        create table measure_2026 partition of measure for values from ('2026-01-01') to ('2027-01-01');
        comment on table author is '@events off';
        create type mood as enum ('good');`,
    })
  })
  afterAll(() => dashboard?.[Symbol.asyncDispose]())
  afterEach(() => dashboard.expectNoProblems())

  const dialog = () => dashboard.page.getByRole('dialog').last()
  const apply = async () => {
    await dialog().getByLabel('SQL of the change').waitFor()
    await dialog().getByRole('button', { name: 'Apply' }).click()
    await dashboard.page
      .getByText(/^Applied and stored in the database as \d{14}_/)
      .first()
      .waitFor()
    await expect.poll(() => dashboard.page.getByRole('dialog').count()).toBe(0)
  }

  test('creates and protects a table without a terminal, and stores its migration', async () => {
    const { app, page } = dashboard
    await dashboard.open('/structure')
    await page.getByText('no row-level security').waitFor()
    await dashboard.expectAccessible()
    await dashboard.screenshot('structure')
    await page.getByRole('button', { name: 'Create a table' }).click()
    await page.getByRole('textbox', { name: 'Name', exact: true }).first().fill('todo')
    await page.getByRole('button', { name: 'Add column' }).click()
    // The new line has the focus.
    await page.keyboard.type('title')
    const line = page.getByRole('group', { name: 'title' })
    await line.getByRole('button', { name: 'Details of title' }).press('Enter')
    await line.getByRole('combobox', { name: 'References' }).fill('public.author')
    await line.getByText('→ public.author(code)').waitFor()
    expect(await line.getByRole('combobox', { name: 'Type' }).inputValue()).toBe('character varying(8)')
    await dashboard.expectAccessible()
    await dashboard.screenshot('structure-new')
    await line.getByRole('combobox', { name: 'References' }).fill('')
    await line.getByRole('combobox', { name: 'Type' }).fill('text')
    await page.getByRole('button', { name: 'Review' }).click()
    await dialog().getByText('basalt_authenticated may newly select').waitFor()
    await dashboard.expectAccessible()
    await dashboard.screenshot('structure-review')
    await apply()
    await page.getByRole('heading', { name: 'public.todo' }).waitFor()
    await page.getByRole('cell', { name: 'title', exact: true }).waitFor()
    expect(
      await app.sql(`
        select c.relrowsecurity as "isProtected", p.polname as policy, m.name ~ '_create_todo.sql$' as "isStored"
        from pg_class c join pg_policy p on p.polrelid = c.oid, basalt.project_migrations m
        where c.relname = 'todo'`),
    ).toEqual([{ isProtected: true, policy: 'own', isStored: true }])
  })

  test('shows partitions under their table, and whether events follow writes of all kinds', async () => {
    const { page } = dashboard
    await dashboard.open('/structure/tables/public/measure?tab=partitions')
    await dashboard.expectAccessible()
    await page.getByRole('link', { name: 'measure_2026' }).click()
    await page.getByText('partition of measure').waitFor()
    await page.getByRole('link', { name: 'measure', exact: true }).click()
    await page.getByRole('tab', { name: 'Triggers' }).click()
    await page.getByText('receive writes of all kinds').waitFor()
    await dashboard.open('/structure/tables/public/author?tab=triggers')
    await page.getByText('receive only writes by the API: its comment holds @events off.').waitFor()
  })

  test('wraps the badges of a relation on a phone', async () => {
    const { page } = dashboard
    await page.setViewportSize({ width: 390, height: 800 })
    for (const path of ['/structure', '/structure/tables/public/titles']) {
      await dashboard.open(path)
      const badge = page.getByText('policies do not apply: security_invoker is off')
      await badge.waitFor()
      const { x = 0, width = 0 } = (await badge.boundingBox()) ?? {}
      expect(x + width).toBeLessThan(390)
      expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390)
    }
    await dashboard.screenshot('structure-390')
    await page.setViewportSize({ width: 1280, height: 800 })
  })

  test('shows refused SQL, which is corrected there and applied', async () => {
    const { app, page } = dashboard
    await dashboard.open('/structure/tables/public/legacy')
    await page.getByRole('button', { name: 'Change title' }).click()
    await dialog().getByLabel('Type').fill('int')
    await dialog().getByRole('button', { name: 'Review' }).click()
    await dialog().getByText('column "title" cannot be cast automatically to type integer').waitFor()
    const editor = dialog().getByLabel('SQL of the change')
    await editor.click()
    await page.keyboard.press('ControlOrMeta+a')
    await page.keyboard.press('Delete')
    await page.keyboard.insertText("alter table public.legacy alter column title set default 'none';")
    await expect.poll(() => dialog().getByRole('button', { name: 'Apply' }).isDisabled()).toBe(true)
    await dialog().getByRole('button', { name: 'Check again' }).click()
    await dialog()
      .getByText(/blocks reads and writes of public.legacy/)
      .waitFor()
    await apply()
    const [row] = await app.sql('insert into legacy default values returning title')
    expect(row).toEqual({ title: 'none' })
  })

  test('enables row-level security with a warning about hidden rows, and creates and changes a policy', async () => {
    const { app, page } = dashboard
    await dashboard.open('/structure/tables/public/legacy?tab=policies')
    await dashboard.expectAccessible()
    await page.getByRole('button', { name: 'Enable row-level security' }).click()
    await dialog().getByText('has other rows of table public.legacy: every row → no row').waitFor()
    await apply()
    await page.getByText('only administrators see rows').waitFor()
    await page.getByRole('button', { name: 'Create a policy' }).click()
    await dialog().getByLabel('Name').fill('read')
    await dialog().getByLabel('Command').selectOption('select')
    await dialog().getByLabel('Visible rows').fill('id > 1')
    await dialog().getByRole('button', { name: 'Review' }).click()
    await apply()
    await page.getByRole('button', { name: 'Change read' }).click()
    await dialog().getByLabel('Visible rows').fill('id > 2')
    await dialog().getByRole('button', { name: 'Review' }).click()
    await apply()
    expect(
      await app.sql(
        "select polcmd, pg_get_expr(polqual, polrelid) as using from pg_policy where polname = 'read'",
      ),
    ).toEqual([{ polcmd: 'r', using: '(id > 2)' }])
  })

  test('adds a check, an index, an enum value and a column with forms', async () => {
    const { app, page } = dashboard
    await dashboard.open('/structure/tables/public/legacy?tab=constraints')
    await page.getByRole('button', { name: 'Add a constraint' }).click()
    await dialog().getByLabel('Condition').fill('id > 0')
    await dialog().getByRole('button', { name: 'Review' }).click()
    await apply()
    await page.getByRole('button', { name: 'Validate legacy_id_check' }).click()
    await apply()
    await page.getByRole('tab', { name: 'Indexes' }).click()
    await page.getByRole('button', { name: 'Create an index' }).click()
    await dialog().getByLabel('Columns', { exact: true }).fill('lower(title), id desc')
    await dialog().getByRole('button', { name: 'Review' }).click()
    await dialog().getByText('it runs outside of a transaction').waitFor()
    await apply()
    await page.getByRole('tab', { name: 'Columns' }).click()
    await page.getByRole('button', { name: 'Add column' }).click()
    await dialog().getByLabel('Name').fill('how')
    await dialog().getByLabel('Type').fill('mood')
    await dialog().getByRole('button', { name: 'Review' }).click()
    await apply()
    await dashboard.open('/structure?view=types')
    await page.getByRole('button', { name: 'Change mood' }).click()
    await dialog().getByLabel('New value').fill('<b>bad</b>')
    await dialog().getByRole('button', { name: 'Review' }).click()
    await apply()
    await page.getByText('good, <b>bad</b>').waitFor()
    expect(
      await app.sql(`
        select convalidated, to_regclass('legacy_lower_id_idx') is not null as indexed,
          (select format_type(atttypid, null) from pg_attribute where attrelid = 'legacy'::regclass and attname = 'how')
        from pg_constraint where conname = 'legacy_id_check'`),
    ).toEqual([{ convalidated: true, indexed: true, format_type: 'mood' }])
  })

  test('shows tables and references in the diagram, follows the list, and opens a table', async () => {
    const { app, page } = dashboard
    await app.sql(`
      create table shop (id int primary key, name text);
      create table sale (id int primary key, shop_id int references shop, day date);
      create table line (sale_id int references sale, position int, primary key (sale_id, position));
      create table "Odd <b>name</b>" (id int primary key, parent int references "Odd <b>name</b>")`)
    await dashboard.open('/structure')
    await page.getByRole('tab', { name: 'Diagram' }).click()
    const list = page.getByRole('navigation', { name: 'Tables of the diagram' })
    await list.getByRole('listitem').filter({ hasText: 'line' }).getByText('refers to sale').waitFor()
    const picture = page.getByRole('application')
    const box = (name: string) => picture.locator(`a[href$="/public/${name}"]`)
    const positionOf = (name: string) => box(name).boundingBox()
    // References to tables of Basalt are not part of the diagram.
    const drawn = await app.sql(`
      select from pg_constraint k join pg_class c on c.oid = k.confrelid
      where k.contype = 'f' and c.relnamespace = 'public'::regnamespace`)
    await expect.poll(() => picture.locator('path[marker-end]').count()).toBe(drawn.length)
    expect((await positionOf('shop'))?.x).toBeLessThan((await positionOf('sale'))?.x ?? 0)
    await dashboard.expectAccessible()
    await dashboard.screenshot('structure-diagram')
    const before = await positionOf('line')
    await picture.focus()
    await page.keyboard.press('ArrowDown')
    await page.keyboard.press('+')
    await expect.poll(async () => (await positionOf('line'))?.width).toBeGreaterThan(before?.width ?? 0)
    await page.getByLabel('All columns').check()
    await box('sale').getByText('date').waitFor()
    await list.getByRole('link', { name: 'Neighbours of line' }).click()
    await page.getByText('Around line').waitFor()
    await expect.poll(() => list.getByRole('listitem').count()).toBe(2)
    await page.setViewportSize({ width: 390, height: 800 })
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390)
    await dashboard.screenshot('structure-diagram-390')
    await page.setViewportSize({ width: 1280, height: 800 })
    await box('line').click()
    await page.getByRole('heading', { name: 'public.line' }).waitFor()

    await app.sql(
      `do $$ begin for n in 1..301 loop execute format('create table many_%s (id int)', n); end loop; end $$`,
    )
    await dashboard.open('/structure?view=diagram')
    await page.getByText(/^30\d tables are too many for one diagram/).waitFor()
    await page.getByRole('searchbox', { name: 'Find a table' }).fill('sal')
    await page.getByRole('button', { name: 'sale', exact: true }).click()
    await expect.poll(() => list.getByRole('listitem').count()).toBe(3)
    await app.sql(
      `do $$ begin for n in 1..301 loop execute format('drop table many_%s', n); end loop; end $$`,
    )
  })

  test('drops a table with its dependents, once its name is typed', async () => {
    const { app, page } = dashboard
    await dashboard.open('/structure/tables/public/legacy')
    await page.getByRole('button', { name: 'More' }).click()
    await page.getByRole('menuitem', { name: 'Drop this table' }).click()
    await dialog().getByText('removes view public.titles').waitFor()
    await expect.poll(() => dialog().getByRole('button', { name: 'Apply' }).isDisabled()).toBe(true)
    await dialog().getByLabel('Type legacy to confirm').fill('legacy')
    await apply()
    await page.getByRole('heading', { name: 'Structure' }).waitFor()
    expect(await app.sql("select to_regclass('titles') as titles")).toEqual([{ titles: null }])
    await dashboard.open('/structure?view=migrations')
    await page.getByText('_drop_legacy.sql').waitFor()
  })
})
