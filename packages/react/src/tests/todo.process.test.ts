import { randomUUID } from 'node:crypto'
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { build, type InlineConfig, type PreviewServer, preview } from 'vite'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { generateTypes } from '../../../server/src/features/data/types/index.ts'
import { systemClock } from '../../../server/src/lib/clock.ts'
import { type Browser, chromium, startBrowser } from '../../../server/test/chromium.ts'
import { faultsOf } from '../../../server/test/faults.ts'
import { readBlocks } from '../../../server/test/guide-blocks.ts'
import { createDirectory } from '../../../server/test/server-process.ts'
import { createTestApp, type TestApp } from '../../../server/test/test-app.ts'
import { waitFor } from '../../../server/test/wait-for.ts'

const root = join(import.meta.dirname, '../../../../examples/todo')

/** Tests of the built example, with two users and a browser each. */
describe.runIf(chromium !== undefined)('example to-do list', () => {
  const directory = createDirectory()
  const storage = createDirectory()
  let app: TestApp
  let pages: PreviewServer
  let ada: Browser
  let bob: Browser

  beforeAll(async () => {
    app = await createTestApp({
      config: { 'storage.enabled': 'true', 'storage.local_path': storage.path },
      setup: await readFile(join(root, 'migrations/20261122150000_create_list.sql'), 'utf8'),
    })
    const config: InlineConfig = {
      root,
      configFile: false,
      logLevel: 'error',
      resolve: { conditions: ['@basaltdb/source'] },
      // The pages have another origin than the server, as sites have.
      define: { 'import.meta.env.VITE_SERVER': JSON.stringify(app.url) },
      build: { outDir: directory.path, emptyOutDir: true },
      preview: { port: 0, host: '127.0.0.1' },
    }
    await build(config)
    pages = await preview(config)
    ;[ada, bob] = await Promise.all([startBrowser(chromium ?? ''), startBrowser(chromium ?? '')])
  })
  afterAll(async () => {
    await ada?.[Symbol.asyncDispose]()
    await bob?.[Symbol.asyncDispose]()
    await pages?.close()
    await directory[Symbol.asyncDispose]()
    if (app === undefined) return
    expect(faultsOf(app)).toEqual([])
    await app[Symbol.asyncDispose]()
    await storage[Symbol.asyncDispose]()
  })

  const read = (browser: Browser) => browser.evaluate<string>('document.body.innerText')
  const shows = (browser: Browser, text: string) =>
    waitFor(`${text} in the page`, async () => (await read(browser)).includes(text))

  /** Enters text as a user does, with the input events that React listens to. */
  const enter = (browser: Browser, label: string, text: string) =>
    browser.evaluate(`(() => {
      const input = document.querySelector('[aria-label=${JSON.stringify(label)}]')
      Object.getOwnPropertyDescriptor(HTMLInputElement.prototype, 'value').set.call(input, ${JSON.stringify(text)})
      input.dispatchEvent(new Event('input', { bubbles: true }))
    })()`)
  const click = (browser: Browser, selector: string) =>
    browser.evaluate(`document.querySelector(${JSON.stringify(selector)}).click()`)
  async function add(browser: Browser, label: string, text: string) {
    await enter(browser, label, text)
    await click(browser, `form:has([aria-label="${label}"]) button`)
  }
  async function signUp(browser: Browser, path = '/') {
    await browser.open(new URL(path, pages.resolvedUrls?.local[0]).href)
    await shows(browser, 'Sign up')
    await enter(browser, 'email', `${randomUUID()}@example.com`)
    await enter(browser, 'password', 'tangerine-harbour-42')
    await click(browser, '[value=up]')
    await shows(browser, 'Sign out')
  }

  test('uses the generated types of its database', async () => {
    const { text } = await app.app.database.system.transaction((transaction) =>
      generateTypes(transaction, { schemas: ['public'] }, 'client', systemClock.now()),
    )
    expect(await readFile(join(root, 'types/database.ts'), 'utf8')).toBe(text)
  })

  test('equals the code of the tutorial', async () => {
    const blocks = readBlocks(await readFile(join(root, '../../docs/guides/tutorial.md'), 'utf8'))
    const shown = blocks.flatMap(({ mark, text }) =>
      mark?.kind === 'file' ? [{ name: mark.value, text }] : [],
    )
    const sources = await readdir(join(root, 'src'))
    expect(shown.map(({ name }) => name)).toEqual(
      expect.arrayContaining(sources.map((name) => `src/${name}`)),
    )
    for (const { name, text } of shown) {
      expect(`${text}\n`, name).toBe(await readFile(join(root, name), 'utf8'))
    }
  })

  test('is shared by both users as soon as the second opens the link of the first', async () => {
    await signUp(ada)
    await add(ada, 'new list', 'Groceries')
    await shows(ada, 'share this list')
    await add(ada, 'new to-do', 'milk')
    await shows(ada, 'milk')
    const link = await ada.evaluate<string>("document.querySelector('a').getAttribute('href')")

    await signUp(bob, `/${link}`)
    await shows(bob, 'milk')
    await add(bob, 'new to-do', 'bread')
    await shows(ada, 'bread')
    await click(ada, 'li:has([aria-label="delete bread"]) input')
    await waitFor('what the other has done', () =>
      bob.evaluate<boolean>('document.querySelectorAll(":checked").length === 1'),
    )

    // Both users see an attached file and can open it.
    await bob.evaluate(`(() => {
      const chosen = new DataTransfer()
      chosen.items.add(new File(['sourdough'], 'kind of bread.txt', { type: 'text/plain' }))
      const input = document.querySelector('[aria-label="attach a file to bread"]')
      input.files = chosen.files
      input.dispatchEvent(new Event('change', { bubbles: true }))
    })()`)
    await shows(ada, 'kind of bread.txt')
    const address = ada.once<{ url: string }>('Page.windowOpen')
    await click(ada, 'li:has([aria-label="delete bread"]) > button:not([aria-label])')
    const { url } = await address
    const opened = await fetch(new URL(new URL(url).pathname + new URL(url).search, app.url))
    expect({ status: opened.status, text: await opened.text() }).toEqual({ status: 200, text: 'sourdough' })

    // A search finds items in other lists.
    await add(ada, 'new list', 'Work')
    await shows(ada, 'Work')
    await click(ada, 'nav button:last-of-type')
    await waitFor('the empty list', async () => !(await read(ada)).includes('milk'))
    await enter(ada, 'search', 'bread')
    await shows(ada, 'bread in Groceries')
    await click(ada, 'search button')
    await shows(ada, 'milk')

    await click(bob, '[aria-label="delete milk"]')
    await waitFor('its end', async () => !(await read(ada)).includes('milk'))

    await click(bob, 'header button')
    await shows(bob, 'Sign in')
    expect(await read(bob)).not.toContain('Groceries')
    // A reload keeps the session.
    await ada.open(pages.resolvedUrls?.local[0] ?? '')
    await shows(ada, 'bread')
  })

  test('shows why a sign-in is refused', async () => {
    await enter(bob, 'email', 'none@example.com')
    await enter(bob, 'password', 'tangerine-harbour-42')
    await click(bob, '[value=in]')
    await shows(bob, 'invalid email or password')
  })
})
