import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import axe from 'axe-core'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { beforeEach, describe, expect, inject } from 'vitest'
import { chromium as program } from '../../../server/test/chromium.ts'
import { createTestApp, type TestApp, type TestAppOptions } from '../../../server/test/test-app.ts'
import { testAdminPassword } from '../../../server/test/test-config.ts'

const wcag = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']
/** Rules of colours: in another theme nothing else differs. */
const colours = ['color-contrast', 'link-in-text-block']

/** @param only tags of rules, or names of some */
async function findViolations(page: Page, only: string[]): Promise<axe.Result[]> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe.source)
  return await page.evaluate(async (runOnly) => {
    // The script above has defined it.
    const { axe: loaded } = globalThis as unknown as { axe: typeof axe }
    const { violations } = await loaded.run({
      runOnly,
      resultTypes: ['violations'],
      preload: false,
      iframes: false,
    })
    return violations
  }, only)
}

/** Journeys through the dashboard in Chromium; skipped where none is installed. */
export function journeys(name: string, define: () => void): void {
  describe.runIf(program !== undefined)(name, () => {
    // One page for all: after a failure each of the others would wait for what it does not show.
    let hasFailed = false
    beforeEach(({ skip, onTestFailed }) => {
      if (hasFailed) skip('a journey before it has failed')
      onTestFailed(() => {
        hasFailed = true
      })
    })
    define()
  })
}

export interface DashboardOptions extends TestAppOptions {
  /** Another server than a new one; it stays when the dashboard is closed. */
  readonly app?: TestApp
  /** False: begins at the sign-in. */
  readonly isSignedIn?: boolean
  readonly viewport?: { readonly width: number; readonly height: number }
}

/** The dashboard of a test app in a browser, signed in. */
export interface Dashboard extends AsyncDisposable {
  readonly app: TestApp
  readonly context: BrowserContext
  readonly page: Page
  /** Opens an address below `/admin`, such as `/tables`, and waits until the screen is shown. */
  open(path: string): Promise<void>
  /** What the page has done wrong so far: messages on its console, violations of its policy, answers of status 500. */
  readonly problems: readonly string[]
  /** Fails on {@link problems} that do not match, and forgets them. For `afterEach`. */
  expectNoProblems(...expected: RegExp[]): void
  /** Fails on what axe finds against WCAG 2.2 AA in the light and in the dark theme. */
  expectAccessible(): Promise<void>
  /** A picture in both themes, in the folder of the environment variable BASALT_SCREENSHOTS; without it, none. */
  screenshot(name: string): Promise<void>
  /** Signs in by the API, as the sign-in form does. */
  signIn(): Promise<void>
}

/** Opens the dashboard of a new test app. */
export async function openDashboard({
  app: given,
  isSignedIn = true,
  viewport = { width: 1280, height: 800 },
  ...options
}: DashboardOptions = {}): Promise<Dashboard> {
  const app = given ?? (await createTestApp(options))
  const browser = await chromium.connect(inject('browserEndpoint'))
  const context = await browser.newContext({ viewport, baseURL: app.url, reducedMotion: 'reduce' })
  // Only ends journeys that hang; the failure is to name the step.
  context.setDefaultTimeout(60_000)
  const page = await context.newPage()
  const problems = watchProblems(context)
  const dashboard: Dashboard = {
    app,
    context,
    page,
    problems,
    async open(path) {
      await page.goto(`/admin${path}`)
      await page.locator('#root *').first().waitFor()
      await page.waitForFunction(() => {
        const statuses = [...document.querySelectorAll('[role="status"]')]
        const isLoading = statuses.some(({ textContent }) => textContent === 'Loading…')
        return !isLoading && document.querySelector('[aria-busy="true"]') === null
      })
    },
    expectNoProblems(...expected) {
      const left = problems.filter((problem) => !expected.some((pattern) => pattern.test(problem)))
      problems.length = 0
      expect(left).toEqual([])
    },
    async expectAccessible() {
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        // A frame later everything has the colours of the theme.
        await page.evaluate(
          () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
        )
        const violations = await findViolations(page, colorScheme === 'light' ? wcag : colours)
        const found = violations.flatMap(({ id, help, nodes }) =>
          nodes.map(({ target, failureSummary }) => ({ colorScheme, id, help, target, failureSummary })),
        )
        expect(found).toEqual([])
      }
    },
    async screenshot(name) {
      const folder = process.env.BASALT_SCREENSHOTS
      if (folder === undefined) return
      mkdirSync(folder, { recursive: true })
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        await page.screenshot({ path: join(folder, `${name}-${colorScheme}.png`) })
      }
    },
    async signIn() {
      const answer = await context.request.post('/api/admin/session', {
        data: { password: testAdminPassword },
      })
      expect(answer.status()).toBe(200)
    },
    async [Symbol.asyncDispose]() {
      await closeAll(browser, context)
      if (given === undefined) await app[Symbol.asyncDispose]()
    },
  }
  if (isSignedIn) await dashboard.signIn()
  return dashboard
}

/** Everything that a page does not do when it works. */
function watchProblems(context: BrowserContext): string[] {
  const problems: string[] = []
  context.on('console', (message) => {
    const text = message.text()
    if (message.type() !== 'error' || notedOtherwise.some((pattern) => pattern.test(text))) return
    problems.push(text)
  })
  context.on('weberror', (error) => problems.push(String(error.error())))
  context.on('response', (response) => {
    if (response.status() >= 500) problems.push(`${response.status()} ${response.url()}`)
  })
  return problems
}

const notedOtherwise = [
  // A refusal of the API, which the page shows; answers of 500 are noted by the response.
  /^Failed to load resource: the server responded with a status of [45]/,
  // HTML of the database in a frame without permissions, as it is meant to be shown. May arrive much later.
  /^Blocked script execution in 'about:srcdoc' because the document's frame is sandboxed/,
]

async function closeAll(browser: Browser, context: BrowserContext): Promise<void> {
  await context.close()
  // The connection of this file; the browser is that of the run.
  await browser.close()
}
