import { spawnSync } from 'node:child_process'
import { fileURLToPath } from 'node:url'
import { chromium } from 'playwright-core'
import type { TestProject } from 'vitest/node'
import { chromium as program } from '../../../server/test/chromium.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** Endpoint of the browser of this run; empty if no browser is installed. */
    browserEndpoint: string
  }
}

const script = fileURLToPath(new URL('../../../../scripts/build-dashboard.js', import.meta.url))

/** Builds the dashboard unless its sources are unchanged, and starts one browser for all files. */
export default async function setUp(project: TestProject): Promise<() => Promise<void>> {
  if (program === undefined) {
    project.vitest.logger.warn('No Chromium is installed: the journeys through the dashboard are skipped.')
    project.provide('browserEndpoint', '')
    return async () => undefined
  }
  const { status, stderr } = spawnSync(process.execPath, [script], { encoding: 'utf8' })
  if (status !== 0) throw new Error(`the dashboard cannot be built:\n${stderr}`)
  const browser = await chromium.launchServer({
    executablePath: program,
    // A container has no user namespaces for the sandbox. The browser only opens pages of these tests.
    args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
  })
  project.provide('browserEndpoint', browser.wsEndpoint())
  return () => browser.close()
}
