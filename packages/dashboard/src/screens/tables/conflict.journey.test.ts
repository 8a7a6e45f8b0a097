import type { Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest'
import { type Dashboard, journeys, openDashboard } from '../../tests/journey.ts'

/** Two pages that edit the same row. docs/guides/concurrent-edits.md shows their conflict. */

journeys('dashboard › tables › two pages with the same row', () => {
  let dashboard: Dashboard
  let other: Page
  beforeAll(async () => {
    dashboard = await openDashboard({
      setup: 'create table task (id int primary key, title text not null, done boolean not null, notes text)',
    })
    other = await dashboard.context.newPage()
  })
  beforeEach(async () => {
    await dashboard.app.sql(`
      truncate task;
      insert into task values
        (1, 'Water the plants', false, repeat('long ', 300)), (2, 'Feed the cat', true, null)`)
    await dashboard.open('/tables/task')
    await other.goto(dashboard.page.url())
  })
  afterAll(() => dashboard?.[Symbol.asyncDispose]())
  afterEach(() => dashboard.expectNoProblems())

  const rename = async (page: Page, title: string) => {
    await page.getByRole('gridcell', { name: 'Water the plants' }).click()
    await page.keyboard.type(title)
    await page.keyboard.press('Enter')
    await page.getByText('1 row staged').waitFor()
  }
  const apply = (page: Page) => page.getByRole('button', { name: 'Apply', exact: true }).last().click()
  const conflict = () => dashboard.page.getByRole('dialog', { name: 'Row 1 has changed' })
  const titles = () => dashboard.app.sql('select title from task order by id')
  const theirs = [{ title: 'Water the trees' }, { title: 'Feed the cat' }]

  test('shows the value of the other page beside the own one, and overwrites it on request', async () => {
    await rename(dashboard.page, 'Water the roses')
    await rename(other, 'Water the trees')
    await apply(other)
    await other.getByText('1 change written.').waitFor()
    await apply(dashboard.page)
    const row = conflict().getByRole('row', { name: /^title/ })
    const values = ['Water the plants', 'Water the trees', 'Water the roses']
    await expect.poll(() => row.getByRole('cell').allTextContents()).toEqual(values)
    expect(await titles()).toEqual(theirs)
    await dashboard.expectAccessible()
    await dashboard.screenshot('conflict')
    await conflict().getByRole('button', { name: 'Overwrite with my change' }).click()
    await dashboard.page.getByText('1 change written.').waitFor()
    expect(await titles()).toEqual([{ title: 'Water the roses' }, theirs[1]])
    // The other page undoes nothing that it has not written.
    await other.getByRole('button', { name: 'Undo' }).click()
    await other.getByText('Nothing was undone: row 1 has changed since you wrote it.').waitFor()
  })

  test('keeps the value of the other page on request', async () => {
    await rename(dashboard.page, 'Water the roses')
    await rename(other, 'Water the trees')
    await apply(other)
    await other.getByText('1 change written.').waitFor()
    await apply(dashboard.page)
    await conflict().getByRole('button', { name: 'Drop my change' }).click()
    await dashboard.page.getByText('1 row staged').waitFor({ state: 'detached' })
    expect(await titles()).toEqual(theirs)
  })

  test('reports a row that the other page has deleted', async () => {
    await rename(dashboard.page, 'Water the roses')
    await dashboard.app.sql('delete from task where id = 1')
    await apply(dashboard.page)
    await conflict().getByText('The row was deleted after you read it.').waitFor()
    await conflict().getByRole('button', { name: 'Drop my change' }).click()
    await dashboard.page.getByText('1 row staged').waitFor({ state: 'detached' })
    expect(await titles()).toEqual([theirs[1]])
  })
})
