import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type Dashboard, journeys, openDashboard } from '../tests/journey.ts'

const setup = `
create table "50%41/a&b" (id text primary key, v text not null);
insert into "50%41/a&b" values ('x%2F1/y', 'A'), ('other', '%41 & more');
`
const table = encodeURIComponent('50%41/a&b')

journeys('dashboard › URLs', () => {
  let dashboard: Dashboard
  beforeAll(async () => {
    dashboard = await openDashboard({ setup })
  })
  afterAll(() => dashboard?.[Symbol.asyncDispose]())
  afterEach(() => dashboard.expectNoProblems())

  const grid = () => dashboard.page.getByRole('grid')
  const values = () => grid().locator('[role=row][aria-rowindex] [aria-colindex="3"]').allTextContents()

  test('keep percent signs, slashes and ampersands in filters, tables and keys', async () => {
    const { page } = dashboard
    await dashboard.open(`/tables/${table}`)
    const filter = page.getByRole('textbox', { name: 'Filter', exact: true })
    await filter.fill(`v = '%41 & more'`)
    await filter.press('Enter')
    await expect.poll(() => values()).toEqual(['v text', '%41 & more'])
    await page.reload()
    await expect.poll(() => filter.inputValue()).toBe(`v = '%41 & more'`)
    await expect.poll(() => values()).toEqual(['v text', '%41 & more'])

    await dashboard.open(`/tables/${table}?${new URLSearchParams({ row: 'x%2F1/y' })}`)
    const panel = page.getByRole('complementary', { name: /x%2F1\/y/ })
    await expect.poll(() => panel.textContent()).toContain('vA')
  })

  test('lead to the structure of a table whose name has to be encoded', async () => {
    const { page } = dashboard
    await dashboard.open(`/tables/${table}`)
    await page.getByRole('main').getByRole('link', { name: 'Structure' }).click()
    await page.getByRole('heading', { name: 'public.50%41/a&b' }).waitFor()
    await dashboard.open(`/search/${table}`)
    await page.getByRole('heading', { name: '50%41/a&b' }).waitFor()
  })

  test('keep the text of a user search', async () => {
    const { page } = dashboard
    await dashboard.open('/users')
    const search = page.getByRole('searchbox', { name: 'Search by email, phone, name or id' })
    await search.pressSequentially('a+%41&b')
    expect(await search.inputValue()).toBe('a+%41&b')
  })
})
