import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import axe from 'axe-core'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import { beforeEach, describe, expect, inject } from 'vitest'
import { chromium as program } from '../../../server/test/chromium.ts'
import { createTestApp, type TestApp, type TestAppOptions } from '../../../server/test/test-app.ts'
import { testAdminPassword } from '../../../server/test/test-config.ts'

const wcag = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa']
/** Accessibility rules about colours, which are the only difference between the themes. */
const colours = ['color-contrast', 'link-in-text-block']

/** Runs axe. @param only tags or names of rules */
async function findViolations(page: Page, only: string[]): Promise<axe.Result[]> {
  if (!(await page.evaluate(() => 'axe' in globalThis))) await page.evaluate(axe.source)
  return await page.evaluate(async (runOnly) => {
    // The script above defines the global.
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

/** Defines journeys through the dashboard in Chromium. They are skipped if no Chromium is installed. */
export function journeys(name: string, define: () => void): void {
  describe.runIf(program !== undefined)(name, () => {
    // All journeys share one page. After a failure, each of the others would wait for elements that are missing.
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
  /** Existing app to use instead of a new one. It keeps running when the dashboard is closed. */
  readonly app?: TestApp
  /** False to start at the sign-in. */
  readonly isSignedIn?: boolean
  readonly viewport?: { readonly width: number; readonly height: number }
}

/** Dashboard of a test app in a browser, signed in. */
export interface Dashboard extends AsyncDisposable {
  readonly app: TestApp
  readonly context: BrowserContext
  readonly page: Page
  /** Opens a path below `/admin`, such as `/tables`, and waits until the screen is shown. */
  open(path: string): Promise<void>
  /** Problems of the page so far: console messages, policy violations and responses with status 500. */
  readonly problems: readonly string[]
  /** Fails on {@link problems} that match no pattern, and clears them. For `afterEach`. */
  expectNoProblems(...expected: RegExp[]): void
  /**
   * Fails on axe violations of WCAG 2.2 AA in the light and in the dark theme.
   *
   * @param except rules that a library of the page breaks
   */
  expectAccessible(...except: readonly string[]): Promise<void>
  /** Saves a screenshot in both themes in the folder BASALT_SCREENSHOTS. Does nothing if the variable is not set. */
  screenshot(name: string): Promise<void>
  /** Signs in through the API, as the sign-in form does. */
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
  // The timeout only ends journeys that hang. The failure names the step.
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
    async expectAccessible(...except) {
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme })
        // One frame later all elements have the colours of the theme.
        await page.evaluate(
          () => new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve))),
        )
        const violations = await findViolations(page, colorScheme === 'light' ? wcag : colours)
        const relevant = violations.filter(({ id }) => !except.includes(id))
        const found = relevant.flatMap(({ id, help, nodes }) =>
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

/** Collects everything that a working page does not do. */
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
  // The page shows API errors itself. Responses with status 500 are recorded separately.
  /^Failed to load resource: the server responded with a status of [45]/,
  // HTML of the database is shown in a frame without permissions, as intended. The message may arrive much later.
  /^Blocked script execution in 'about:srcdoc' because the document's frame is sandboxed/,
]

async function closeAll(browser: Browser, context: BrowserContext): Promise<void> {
  await context.close()
  // This closes the connection of the file. The browser belongs to the run.
  await browser.close()
}
