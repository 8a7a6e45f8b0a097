import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Dashboard, journeys, openDashboard } from '../../tests/journey.ts'

const setup = `
create type mood as enum ('calm', 'busy');
create table sample (
  id bigint primary key,
  flag boolean,
  mood mood,
  day date,
  moment timestamptz,
  at time,
  stay daterange,
  tags text[],
  amount numeric,
  paid money,
  doc jsonb,
  tint text,
  site text,
  mail text,
  bio text,
  picture text
);
comment on column sample.tint is 'Of the profile. @color';
comment on column sample.site is '@url';
comment on column sample.mail is '@email';
comment on column sample.bio is '@markdown';
comment on column sample.picture is '@file pictures';
`
const columns = ['id', 'flag', 'mood', 'day', 'moment', 'at', 'stay', 'tags', 'amount', 'paid', 'doc'].concat(
  ...['tint', 'site', 'mail', 'bio', 'picture'],
)

const pixel = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)

journeys('dashboard › kinds of values', () => {
  let dashboard: Dashboard
  const folder = mkdtempSync(join(tmpdir(), 'basalt-files-'))
  beforeAll(async () => {
    dashboard = await openDashboard({
      setup,
      config: { 'storage.enabled': 'true', 'storage.local_path': folder },
      viewport: { width: 3400, height: 700 },
    })
    await dashboard.app.sql(`insert into basalt.buckets (name, is_public) values ('pictures', false)`)
  })
  beforeEach(async () => {
    await dashboard.app.sql(`
      truncate sample;
      insert into sample values (
        9007199254740993, true, 'calm', '2026-01-31', '2026-01-31 13:05:09.123456+00', '13:05:09.123456',
        '[2026-01-01,2026-02-01)', '{red,"a b",NULL}', 123456789012345678901234.50, 1234.56,
        '{"n": 12345678901234567890.10}', '#aa3300', 'https://example.com/a', 'ada@example.com',
        E'# Title\\n\\nSome **bold** text, [a link](https://example.com) and <b>no HTML</b>\\n\\n- one\\n- two', null);
      insert into sample (id, tint, site) values (2, 'url(https://example.com/x)', 'javascript:alert(1)')`)
    await dashboard.open('/tables/sample?sort=-id')
  })
  afterAll(async () => {
    await dashboard?.[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  })
  afterEach(() => dashboard.expectNoProblems())

  const cell = (row: number, name: string) =>
    dashboard.page.locator(
      `[role=grid] [role=row][aria-rowindex="${row + 1}"] [aria-colindex="${columns.indexOf(name) + 2}"]`,
    )
  /** Opens the editor of a cell of the first row by the keyboard. */
  const edit = async (name: string) => {
    const { page } = dashboard
    await cell(1, 'id').click()
    await page.keyboard.press('Home')
    for (let step = 0; step < columns.indexOf(name); step += 1) await page.keyboard.press('ArrowRight')
    await page.keyboard.press('Enter')
  }
  const apply = async () => {
    const { page } = dashboard
    await page.getByRole('button', { name: 'Apply', exact: true }).last().click()
    await page.getByText(/changes? written\./).waitFor()
  }
  const read = async (column: string) =>
    (await dashboard.app.sql(`select (${column})::text as value from sample order by id desc limit 1`))[0]
      ?.value

  test('shows each kind in its own form, and hostile values as texts', async () => {
    const { page } = dashboard
    expect(await cell(1, 'flag').textContent()).toBe('true')
    expect(await cell(1, 'tags').locator('span span').allTextContents()).toEqual(['red', 'a b', 'NULL'])
    expect(await cell(1, 'amount').textContent()).toBe('123456789012345678901234.50')
    await dashboard.screenshot('tables-kinds')
    await dashboard.expectAccessible()
    await edit('site')
    await page.keyboard.press('Escape')
    expect(
      await cell(1, 'tint')
        .locator('span')
        .evaluate((sample) => sample.style.backgroundColor),
    ).toBe('rgb(170, 51, 0)')
    expect(await cell(1, 'site').getByRole('link').getAttribute('href')).toBe('https://example.com/a')
    expect(await cell(1, 'mail').getByRole('link').getAttribute('href')).toBe('mailto:ada@example.com')
    expect(await cell(2, 'site').getByRole('link').count()).toBe(0)
    expect(
      await cell(2, 'tint')
        .locator('span')
        .evaluate((sample) => sample.style.background),
    ).toBe('')
    await page.keyboard.press('End')
    await dashboard.screenshot('tables-kinds-tags')
  })

  test('edits an array and a range by the keyboard', async () => {
    const { page } = dashboard
    await edit('tags')
    const list = page.getByRole('dialog', { name: 'tags: text[]' })
    await list.getByLabel('Element 2', { exact: true }).press('Enter')
    await page.keyboard.type('new, "one"')
    await dashboard.screenshot('tables-array')
    await dashboard.expectAccessible()
    await list.getByRole('button', { name: 'Remove element 1' }).press('Enter')
    await list.getByRole('button', { name: 'Stage' }).press('Enter')
    await edit('stay')
    const range = page.getByRole('dialog', { name: 'stay: daterange' })
    await range.getByLabel('From', { exact: true }).fill('')
    await range.getByLabel('To', { exact: true }).fill('2026-03-31')
    await range.getByLabel('Included').last().check()
    await dashboard.screenshot('tables-range')
    await range.getByRole('button', { name: 'Stage' }).press('Enter')
    await apply()
    expect([await read('tags'), await read('stay')]).toEqual([
      '{"a b","new, \\"one\\"",NULL}',
      '(,2026-04-01)',
    ])
  })

  test('keeps every digit of the values that a picker does not replace', async () => {
    const { page } = dashboard
    for (const name of ['moment', 'at', 'amount', 'paid']) {
      await edit(name)
      await page.keyboard.press('End')
      await page.keyboard.type(' ')
      await page.keyboard.press('Enter')
    }
    await edit('doc')
    const document = page.getByRole('dialog', { name: 'doc: jsonb' })
    await document.getByRole('textbox').press('Control+End')
    await page.keyboard.type(' ')
    await document.getByRole('button', { name: 'Stage' }).press('Enter')
    await apply()
    expect(await Promise.all(['id', 'moment', 'at', 'amount', 'paid', 'doc'].map(read))).toEqual([
      '9007199254740993',
      expect.stringContaining('13:05:09.123456'),
      '13:05:09.123456',
      '123456789012345678901234.50',
      '$1,234.56',
      '{"n": 12345678901234567890.10}',
    ])
  })

  test('picks a date, a time and a color', async () => {
    const { page } = dashboard
    await edit('day')
    await page.getByLabel('Pick a date').fill('2026-02-28')
    await page.getByLabel('day', { exact: true }).press('Enter')
    await edit('moment')
    await page.getByLabel('Pick a time').fill('2026-02-28T08:30:15')
    await page.getByLabel('moment', { exact: true }).press('Enter')
    await edit('tint')
    await page.getByLabel('Pick a color').fill('#00ff00')
    await dashboard.expectAccessible()
    await dashboard.screenshot('tables-color')
    await page.getByLabel('tint', { exact: true }).press('Enter')
    await apply()
    expect([await read('day'), await read(`moment at time zone 'UTC'`), await read('tint')]).toEqual([
      ...['2026-02-28', '2026-02-28 08:30:15', '#00ff00'],
    ])
  })

  test('shows the preview of a Markdown text without its HTML', async () => {
    const { page } = dashboard
    await edit('bio')
    const preview = page.getByRole('region', { name: 'Preview' })
    expect(await preview.getByRole('heading').textContent()).toBe('Title')
    expect(await preview.locator('strong').textContent()).toBe('bold')
    expect(await preview.getByRole('listitem').allTextContents()).toEqual(['one', 'two'])
    expect(await preview.locator('b').count()).toBe(0)
    expect(await preview.getByText('<b>no HTML</b>').count()).toBe(1)
    await dashboard.screenshot('tables-markdown')
    await dashboard.expectAccessible()
    await page.getByRole('dialog').getByRole('textbox').fill('_changed_')
    expect(await preview.locator('em').textContent()).toBe('changed')
    await page.getByRole('dialog').getByRole('button', { name: 'Stage' }).press('Enter')
    await apply()
    expect(await read('bio')).toBe('_changed_')
  })

  test('uploads a file from its cell and shows it', async () => {
    const { page } = dashboard
    await edit('picture')
    const dialog = page.getByRole('dialog', { name: 'picture: text' })
    await dialog.getByRole('textbox', { name: 'Value' }).fill('missing.png')
    await dialog.getByText('The bucket pictures has no object with this name.').waitFor()
    await dialog
      .getByLabel('Upload to pictures')
      .setInputFiles({ name: 'me.png', mimeType: 'image/png', buffer: pixel })
    await dialog.getByRole('img').waitFor()
    await dashboard.screenshot('tables-file')
    await dashboard.expectAccessible()
    await dialog.getByRole('button', { name: 'Stage' }).press('Enter')
    await apply()
    expect(await read('picture')).toMatch(/^[\w-]{10,}\/me\.png$/)
    await page.keyboard.press('End')
    await cell(1, 'picture').locator('img').waitFor()
    expect(await cell(1, 'picture').textContent()).toBe('me.png')
  })

  test('reports an upload that the bucket rejects', async () => {
    const { page } = dashboard
    await dashboard.app.sql(`comment on column sample.picture is '@file nowhere'`)
    await dashboard.app.app.catalog.refresh()
    await dashboard.open('/tables/sample?sort=-id')
    await edit('picture')
    const dialog = page.getByRole('dialog', { name: 'picture: text' })
    await dialog
      .getByLabel('Upload to nowhere')
      .setInputFiles({ name: 'me.png', mimeType: 'image/png', buffer: pixel })
    await dialog.getByText('bucket_not_found').waitFor()
    await dashboard.app.sql(`comment on column sample.picture is '@file pictures'`)
    await dashboard.app.app.catalog.refresh()
    dashboard.expectNoProblems(/404/)
  })

  test('offers the tests of each kind in the filter builder', async () => {
    const { page } = dashboard
    const condition = async (column: string, test: string, value: string) => {
      await page.getByRole('button', { name: 'Add condition' }).click()
      const dialog = page.getByRole('dialog', { name: 'Add a condition' })
      await dialog.getByLabel('Column').selectOption(column)
      await dialog.getByLabel('Test').selectOption({ label: test })
      const field = dialog.getByLabel('Value', { exact: true })
      await ((await field.evaluate(({ tagName }) => tagName)) === 'SELECT'
        ? field.selectOption(value)
        : field.fill(value))
      await dialog.getByRole('button', { name: 'Add', exact: true }).press('Enter')
      await expect.poll(() => dashboard.page.getByRole('row').count()).toBe(2)
      await page.getByRole('button', { name: 'Clear', exact: true }).click()
      await expect.poll(() => dashboard.page.getByRole('row').count()).toBe(3)
    }
    await condition('tags', 'has', 'a b')
    await condition('stay', 'has', '2026-01-15')
    await condition('stay', 'overlaps', '[2026-01-20,2026-05-01)')
    await condition('doc', 'has', '{"n": 12345678901234567890.10}')
    await condition('mood', 'is', 'calm')
    await condition('flag', 'is', 'true')
    await condition('day', 'is at most', '2026-01-31')
    await condition('amount', 'is', '123456789012345678901234.50')
  })
})
