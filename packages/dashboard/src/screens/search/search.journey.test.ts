import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import {
  countLetters,
  type EmbeddingProvider,
  embeddings,
  startEmbeddingProvider,
  status,
} from '../../../../server/test/embedding-provider.ts'
import { type Inbox, openInbox } from '../../../../server/test/inbox.ts'
import { userToken } from '../../../../server/test/test-app.ts'
import { type Dashboard, journeys, openDashboard } from '../../tests/journey.ts'

const ann = '33333333-3333-4333-8333-333333333333'

journeys('dashboard › search, embeddings and support', () => {
  let dashboard: Dashboard
  let provider: EmbeddingProvider
  let inbox: Inbox
  beforeAll(async () => {
    provider = await startEmbeddingProvider()
    inbox = await openInbox()
    dashboard = await openDashboard({
      config: {
        'ai.providers': JSON.stringify({ local: { base_url: provider.url, default_model: 'letters' } }),
        'ai.default_provider': 'local',
        'ai.max_retries': '0',
        'ai.breaker.failure_threshold': '1',
        'ai.breaker.open_seconds': '3600',
        embeddings: JSON.stringify({
          songs: { table: 'song', columns: ['name'], vector_column: 'meaning' },
          lost: { table: 'nowhere', columns: ['name'], vector_column: 'meaning' },
        }),
        'support.enabled': 'true',
        'email.backend': 'webhook',
        'email.webhook.url': inbox.url,
      },
      setup: `
        create extension pg_trgm;
        create table song (id int primary key, name text not null, composer text, plays int, meaning jsonb);
        insert into song (id, name, composer, plays) values
          (1, 'White Room', 'Clapton', 5), (2, 'Old Love', 'Eric Clapton', 9),
          (3, 'Love <img src=x onerror="window.hacked=1">', 'Bruce', 1);
        create view titles as select name from song;
        analyze song;
        insert into basalt.users (id, email) values ('${ann}', 'ann@example.com')`,
    })
  })
  afterAll(async () => {
    await dashboard?.[Symbol.asyncDispose]()
    await provider?.[Symbol.asyncDispose]()
    await inbox?.[Symbol.asyncDispose]()
  })
  afterEach(() => dashboard.expectNoProblems())

  const button = (name: string) => dashboard.page.getByRole('button', { name, exact: true })
  const tab = (name: string) => dashboard.page.getByRole('tab', { name }).click()
  const hits = () => dashboard.page.getByRole('list', { name: 'Matching records' }).getByRole('listitem')
  const onPhone = async (name: string) => {
    const { page } = dashboard
    await page.setViewportSize({ width: 390, height: 800 })
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBe(390)
    await dashboard.screenshot(`${name}-390`)
    await page.setViewportSize({ width: 1280, height: 800 })
  }

  test('searches a table with highlights, typos and counts, and shows its values as text', async () => {
    const { page } = dashboard
    await dashboard.open('/search')
    await page.getByRole('link', { name: 'song' }).click()
    await page.getByLabel('Search for').fill('clapton love')
    await expect.poll(() => hits().count()).toBe(1)
    expect(await hits().locator('mark').allTextContents()).toEqual(['Love', 'Clapton'])
    await page.getByText('GET /api/collections/song?search=clapton+love&highlight=true').waitFor()
    await page.getByLabel('Search for').fill('claptn')
    await page.getByText('0 records').waitFor()
    await page.getByLabel('Tolerate typos').check()
    await page.getByLabel('Count values of').selectOption('composer')
    await expect.poll(() => hits().count()).toBe(2)
    await dashboard.expectAccessible()
    await dashboard.screenshot('search-try')
    await onPhone('search-try')
    await button('Clapton · 1').click()
    await page.getByText("Only composer = 'Clapton'").waitFor()
    await expect.poll(() => hits().count()).toBe(1)
    await page.reload()
    await hits().getByRole('link', { name: 'song 1' }).waitFor()
    await button('Clear filter').click()
    await page.getByLabel('Search for').fill('onerror')
    await hits().getByText('Love <img src=x onerror="window.hacked=1">').waitFor()
    expect(await page.evaluate(() => 'hacked' in window)).toBe(false)
    await hits().getByRole('link', { name: 'song 3' }).click()
    await page.getByRole('complementary', { name: /song/ }).waitFor()
  })

  test('saves weights, ranking and synonyms, and keeps the group of another administrator', async () => {
    const { app, page } = dashboard
    await dashboard.open('/search/song')
    await tab('Settings')
    await page.getByLabel('name', { exact: true }).selectOption('high')
    await page.getByLabel('Add a column').selectOption('plays')
    await page.getByLabel('Order of plays').selectOption('descending')
    await dashboard.expectAccessible()
    await dashboard.screenshot('search-settings')
    await onPhone('search-settings')
    await button('Save settings').click()
    const stored = () => app.sql('select attributes, custom_ranking, synonyms from basalt.search_settings')
    await expect.poll(stored).toEqual([
      {
        attributes: [{ column: 'name', weight: 'high' }],
        custom_ranking: [{ column: 'plays', order: 'desc' }],
        synonyms: [],
      },
    ])
    await tab('Synonyms')
    await button('New group').click()
    await page.getByLabel('Terms').fill('song\nlove')
    await button('Save group').click()
    await page.getByRole('cell', { name: 'love, song', exact: true }).waitFor()
    await app.sql(`update basalt.search_settings set synonyms = synonyms || '[["room", "hall"]]'`)
    await button('Edit love, song').click()
    await page.getByLabel('Terms').fill('song\nlove\ntune')
    await button('Save group').click()
    await page.getByRole('cell', { name: 'love, song, tune', exact: true }).waitFor()
    await page.getByRole('cell', { name: 'hall, room', exact: true }).waitFor()
    await dashboard.expectAccessible()
    await dashboard.screenshot('search-synonyms')
    await app.sql(`update basalt.search_settings set synonyms = '[["room", "hall"]]'`)
    await button('Delete love, song, tune').click()
    await button('Delete group').click()
    await page.getByText('Another administrator has changed this group').waitFor()
    await button('Cancel').click()
    expect((await stored())[0]?.synonyms).toEqual([['room', 'hall']])
  })

  test('builds the indexes after showing their cost, and drops them', async () => {
    const { app, page } = dashboard
    const count = async () =>
      (await app.sql(`select from pg_class where relname like 'idx\\_basalt%' and relkind = 'i'`)).length
    await dashboard.open('/search/song?tab=index')
    await button('Build indexes').click()
    await page.getByRole('dialog').getByText('All rows are read (≈ 3,').waitFor()
    await dashboard.screenshot('search-cost')
    await page.getByRole('dialog').getByRole('button', { name: 'Build indexes' }).click()
    await page.getByText('The indexes of song are built.').waitFor()
    await page.getByRole('cell', { name: 'similar words' }).waitFor()
    expect(await count()).toBe(2)
    await dashboard.expectAccessible()
    await dashboard.screenshot('search-index')
    await onPhone('search-index')
    await button('Disable').click()
    await button('Drop indexes').click()
    await expect.poll(count).toBe(0)
    await dashboard.open('/search')
    await page.getByRole('row', { name: /^song/ }).getByText('Disabled').waitFor()
    await dashboard.expectAccessible()
    await dashboard.screenshot('search')
    await dashboard.open('/search/titles?tab=index')
    await page.getByText('Indexes are not possible: "titles" is a view.').waitFor()
    await dashboard.open('/search?view=vectors')
    await button('Build a vector index').click()
    await page.getByLabel('Table', { exact: true }).fill('song')
    await page.getByText('The table has no vector columns.').waitFor()
    await dashboard.expectAccessible()
    await dashboard.screenshot('search-vectors')
  })

  test('starts a backfill, and shows the failure of its provider', async () => {
    const { app, page } = dashboard
    const vectors = () =>
      app.sql('select count(*)::int as n from song where meaning is not null').then(([row]) => row?.n)
    await dashboard.open('/embeddings')
    await page.getByRole('row', { name: /^lost/ }).getByText('Not updated').waitFor()
    await page.getByRole('link', { name: 'songs' }).click()
    await button('Start a backfill').click()
    await button('Start backfill').click()
    await expect.poll(vectors).toBe(3)
    const panel = page.getByRole('complementary', { name: 'songs' })
    await panel.getByText('completed').waitFor()
    provider.answer = status(500)
    await button('Start a backfill').click()
    await page.getByLabel('Include rows that have a vector').check()
    await button('Start backfill').click()
    await panel.getByText('Paused after repeated failures').waitFor()
    await panel.getByText('embedding provider error: status 500').waitFor()
    await panel.getByText('Provider unavailable').waitFor()
    await dashboard.expectAccessible()
    await dashboard.screenshot('embeddings')
    await onPhone('embeddings')
    provider.answer = embeddings(countLetters)
    const audit = await app.sql(`select detail ->> 'all' as "all" from basalt.audit
      where action = 'embeddings.backfill' order by id`)
    expect(audit).toEqual([{ all: 'false' }, { all: 'true' }])
  })

  test('finds a ticket, replies to it, closes it and reopens it', async () => {
    const { app, page } = dashboard
    const body = { subject: 'Door <b>broken</b>', body: 'It does not open.\n<img src=x onerror=alert(1)>' }
    const opened = await app.request('POST', '/api/support/tickets', { token: userToken({ sub: ann }), body })
    expect(opened.status).toBe(201)
    await dashboard.open('/support')
    await page.getByRole('searchbox', { name: 'Search subjects and email addresses' }).fill('ANN@')
    await dashboard.expectAccessible()
    await dashboard.screenshot('support')
    await page.getByRole('link', { name: 'Door <b>broken</b>' }).click()
    await page.getByText('<img src=x onerror=alert(1)>').waitFor()
    await page.getByLabel('Reply').fill('Push it.')
    await button('Reply').click()
    await page.getByText('mailed', { exact: false }).first().waitFor()
    await page.getByRole('list', { name: 'Messages' }).getByText('Push it.').waitFor()
    await dashboard.expectAccessible()
    await dashboard.screenshot('support-ticket')
    await onPhone('support-ticket')
    await button('Close ticket').click()
    const stored = () => app.sql('select status from basalt.support_tickets')
    await expect.poll(stored).toEqual([{ status: 'closed' }])
    await button('Reopen ticket').click()
    await expect.poll(stored).toEqual([{ status: 'open' }])
    expect(await app.sql(`select body from basalt.support_messages where author = 'support'`)).toEqual([
      { body: 'Push it.' },
    ])
    await page.getByRole('link', { name: 'ann@example.com' }).click()
    await page.getByRole('main').getByRole('link', { name: 'tickets' }).click()
    await page.getByRole('link', { name: 'Door <b>broken</b>' }).waitFor()
  })
})
