import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { type Dashboard, journeys, openDashboard } from '../../tests/journey.ts'

journeys('dashboard › storage', () => {
  let dashboard: Dashboard
  const folder = mkdtempSync(join(tmpdir(), 'basalt-files-'))
  beforeAll(async () => {
    const config = { 'storage.enabled': 'true', 'storage.local_path': folder }
    dashboard = await openDashboard({ config })
  })
  afterAll(async () => {
    await dashboard?.[Symbol.asyncDispose]()
    rmSync(folder, { recursive: true, force: true })
  })
  // Expected problems are scripts stopped by policies and a service worker refused by the server.
  afterEach(() => dashboard.expectNoProblems(/Blocked script execution/, /bad HTTP response code \(403\)/))

  const hostileName = '"><img src=x onerror=document.title=1>.html'
  const objects = () => dashboard.app.sql('select bucket, name, size::int from basalt.objects order by name')

  test('creates a bucket with limits', async () => {
    const { app, page } = dashboard
    await dashboard.open('/storage')
    await page.getByText('No buckets yet.').waitFor()
    await page.getByRole('button', { name: 'New bucket' }).click()
    await page.getByLabel('Name').fill('photos')
    await page.getByLabel('Maximum file size in MB').fill('5')
    await dashboard.expectAccessible()
    await page.getByRole('button', { name: 'Create bucket' }).click()
    await page.getByRole('link', { name: 'photos' }).waitFor()
    expect(await app.sql('select name, is_public, max_file_size::int as size from basalt.buckets')).toEqual([
      { name: 'photos', is_public: false, size: 5_000_000 },
    ])
  })

  test('purges copies of a content delivery network', async () => {
    const { app, page } = dashboard
    await dashboard.open('/storage')
    await page.getByRole('button', { name: 'Purge CDN' }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('URLs').fill('photos/a.jpg')
    await dialog.getByRole('button', { name: 'Purge', exact: true }).click()
    await dialog.getByText('urls must contain absolute public URLs').waitFor()
    await dialog.getByLabel('URLs').fill('https://cdn.example/a.jpg https://cdn.example/b.jpg')
    await dialog.getByRole('button', { name: 'Purge', exact: true }).click()
    await page.getByText('There is nothing to purge').waitFor()
    expect(await app.sql("select detail from basalt.audit where action = 'cdn.purge_urls'")).toMatchObject([
      { detail: { provider: 'nop', submitted: 2 } },
    ])
  })

  test('uploads files in parts, and shows that one exceeds the limit', async () => {
    const { page } = dashboard
    await dashboard.open('/storage/photos')
    const picker = page.getByLabel('Files to upload')
    const script = '<h1>Hi</h1><script>parent.document.title = "owned"; document.title = "owned"</script>'
    await picker.setInputFiles([
      { name: 'plain.txt', mimeType: 'text/plain', buffer: Buffer.alloc(700_000, 'line\n') },
      { name: hostileName, mimeType: 'text/html', buffer: Buffer.from(script) },
      { name: 'large.bin', mimeType: 'application/octet-stream', buffer: Buffer.alloc(5_000_001) },
    ])
    const uploads = page.getByRole('list', { name: 'Uploads' })
    await uploads.getByText('Uploaded, 700 kB').waitFor()
    await uploads.getByText(/^Failed: /).waitFor()
    await page.getByRole('link', { name: hostileName }).waitFor()
    await expect.poll(objects).toEqual([
      { bucket: 'photos', name: hostileName, size: script.length },
      { bucket: 'photos', name: 'plain.txt', size: 700_000 },
    ])
    await dashboard.expectAccessible()
  })

  test('shows an uploaded page without running it', async () => {
    const { page } = dashboard
    await page.getByRole('link', { name: hostileName }).click()
    await page.frameLocator('iframe').getByRole('heading', { name: 'Hi' }).waitFor()
    await expect.poll(() => page.title()).toBe('photos · Storage · Basalt')
    await dashboard.screenshot('storage')
  })

  test('opens a signed link without a session, until all links are revoked', async () => {
    const { app, page } = dashboard
    await page.getByRole('button', { name: 'Create link' }).click()
    const link = await page.getByRole('figure', { name: 'Signed link' }).locator('pre').textContent()
    const read = async () => {
      const response = await fetch(link ?? '')
      return [response.status, response.headers.get('content-security-policy')]
    }
    expect(link).toContain(`${app.url}/api/storage/photos/`)
    const [status, policy] = await read()
    expect([status, policy]).toEqual([200, expect.stringContaining('sandbox')])
    await page.getByRole('button', { name: 'Revoke all links' }).click()
    await page.getByText('Signed links of this object are revoked.').waitFor()
    expect((await read())[0]).not.toBe(200)
  })

  test('moves and deletes an object', async () => {
    const { page } = dashboard
    await page.getByRole('button', { name: 'Move' }).click()
    await page.getByLabel('Name').fill('pages/hi.html')
    await page.getByRole('dialog').getByRole('button', { name: 'Move' }).click()
    await page.getByText('Object moved.').waitFor()
    await page.getByRole('link', { name: 'pages/' }).click()
    await page.getByRole('link', { name: 'hi.html' }).click()
    await page.getByRole('heading', { name: 'pages/hi.html' }).waitFor()
    await page.getByRole('button', { name: 'Delete' }).click()
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click()
    await page.getByText('Object deleted.').waitFor()
    expect(await objects()).toEqual([{ bucket: 'photos', name: 'plain.txt', size: 700_000 }])
  })

  test('reads a long list page by page, folders first', async () => {
    const { app, page } = dashboard
    await app.sql(
      "insert into basalt.stored_bytes (key) select md5('page' || n) from generate_series(1, 150) n",
    )
    await app.sql(`
      insert into basalt.objects (bucket, name, size, content_type, app_id, key)
      select 'photos', case n % 50 when 0 then 'folder ' || n || '/' else 'q' end || n, 1, 'text/plain',
        '00000000-0000-0000-0000-000000000000', md5('page' || n)
      from generate_series(1, 150) n`)
    await dashboard.open('/storage/photos')
    await page.getByRole('link', { name: 'folder 150/' }).waitFor()
    expect(await page.getByRole('link', { name: 'q99' }).count()).toBe(0)
    await page.getByRole('button', { name: 'Load more' }).click()
    await page.getByRole('link', { name: 'q99' }).waitFor()
    expect(await page.getByRole('button', { name: 'Load more' }).count()).toBe(0)
    await app.sql("delete from basalt.objects where name <> 'plain.txt'")
  })

  test('deletes a bucket with its objects once its name is typed', async () => {
    const { app, page } = dashboard
    await dashboard.open('/storage')
    await page.getByRole('button', { name: 'Actions of photos' }).click()
    await page.getByRole('menuitem', { name: 'Delete' }).click()
    const confirm = page.getByRole('button', { name: 'Delete bucket' })
    expect(await confirm.isDisabled()).toBe(true)
    await page.getByLabel('Type photos to confirm').fill('photos')
    await confirm.click()
    await page.getByText('No buckets yet.').waitFor()
    expect(await app.sql('select from basalt.buckets')).toEqual([])
  })

  test('runs no uploaded content on this origin', async () => {
    const { app, context } = dashboard
    const token = await app.adminToken()
    const upload = async (name: string, type: string, body: string) => {
      const headers = { authorization: `Bearer ${token}`, 'content-type': type }
      const response = await fetch(`${app.url}/api/storage/public/${name}`, { method: 'PUT', headers, body })
      expect(response.status).toBeLessThan(300)
      return `${app.url}/api/storage/public/${name}`
    }
    const body = { name: 'public', public: true }
    expect((await app.request('POST', '/api/storage/buckets', { token, body })).status).toBe(201)
    const script = `localStorage.setItem('hacked', '1'); document.documentElement.setAttribute('data-ran', '1')`
    const svg = `<svg xmlns="http://www.w3.org/2000/svg" onload="${script}"><script>${script}</script></svg>`
    const drawing = await upload('drawing.svg', 'image/svg+xml', svg)
    const worker = await upload('worker.js', 'text/javascript', `addEventListener('fetch', () => {})`)

    const page = await context.newPage()
    // The browser saves the file. If a proxy drops the disposition, the policy still applies.
    const download = page.waitForEvent('download')
    await page.goto(drawing).catch(() => undefined)
    expect((await download).suggestedFilename()).toBe('drawing.svg')
    await page.route(drawing, async (route) => {
      const response = await route.fetch()
      const { 'content-disposition': _saved, ...headers } = response.headers()
      await route.fulfill({ response, headers })
    })
    await page.goto(drawing)
    expect(await page.evaluate(() => document.documentElement.tagName)).toBe('svg')
    expect(await page.evaluate(() => document.documentElement.hasAttribute('data-ran'))).toBe(false)
    // This page of the origin has no policy.
    await page.route(`${app.url}/bare`, (route) =>
      route.fulfill({ contentType: 'text/html', body: '<!doctype html>' }),
    )
    await page.goto(`${app.url}/bare`)
    expect(await page.evaluate(() => localStorage.getItem('hacked'))).toBeNull()
    const register = (url: string) =>
      page.evaluate(
        (address) =>
          navigator.serviceWorker.register(address).then(
            () => 'registered',
            (error: unknown) => String(error),
          ),
        url,
      )
    for (const address of [worker, `${worker}?download=worker.js`]) {
      expect(await register(address)).toMatch(/bad HTTP response code \(403\)/)
    }
    await page.close()
  })
})
