import { defineConfig } from 'vitest/config'
import { LongestFirst } from './packages/server/test/longest-first.ts'
import { SlowestFiles } from './packages/server/test/slowest-files.ts'

const server = 'packages/server'
/** Packages of the browser. */
const client = 'packages/{client,react}'
const dashboard = 'packages/dashboard'
const database = { globalSetup: [`${server}/test/global-setup.ts`] }
/** Tests wait for Postgres and for servers that start: more files at once than there are cores. */
const sideBySide = { maxWorkers: 5, sequence: { groupOrder: 0 } }
/**
 * Files that run one after the other in a worker share its modules, which keep no state, and their compiled code: it
 * takes a quarter of the processor time away.
 */
const sharedModules = { isolate: false }

/** These put a load on the server and judge how soon it answers: side by side they would measure each other. */
const underLoad = `${server}/test/faults/{network,nodes,overload,postgres}.process.test.ts`

/**
 * Generous: a test that waits for a condition ends with it, and machines may be ten times slower. These end tests that
 * hang; the limit of one condition, here and in `test/wait-for.ts`, is shorter, so that the failure names it.
 */
const patient = { testTimeout: 120_000, hookTimeout: 120_000, expect: { poll: { timeout: 60_000 } } }

/**
 * Kinds of tests, by name: pure (`.test.ts`), with a database (`.db.test.ts`), those that start whole processes or break
 * things (`.process.test.ts`), and journeys through the dashboard in a browser (`.journey.test.ts`). They stand beside what they test or in a folder `tests`.
 */
export default defineConfig({
  test: {
    // Node runs the sources as it does in production; there is nothing to transform.
    experimental: { viteModuleRunner: false },
    // Packages import each other by name: their sources, which need no build.
    execArgv: ['--conditions=@basaltdb/source'],
    reporters: [new SlowestFiles(), 'default'],
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: 'pure',
          include: [
            `${server}/{src,test}/**/*.test.ts`,
            `packages/{client,react,dashboard}/src/**/*.test.ts`,
            'scripts/language/*.test.ts',
          ],
          exclude: [`packages/*/**/*.{db,process,architecture,journey}.test.ts`],
          ...patient,
          ...sideBySide,
          ...sharedModules,
        },
      },
      {
        test: {
          name: 'architecture',
          include: [`${server}/test/**/*.architecture.test.ts`],
          ...patient,
          ...sideBySide,
          ...sharedModules,
        },
      },
      {
        test: {
          name: 'database',
          include: [`${server}/{src,test}/**/*.db.test.ts`, `${client}/src/**/*.db.test.ts`],
          ...patient,
          ...database,
          ...sideBySide,
          ...sharedModules,
        },
      },
      {
        test: {
          name: 'process',
          include: [`${server}/{src,test}/**/*.process.test.ts`, `${client}/src/**/*.process.test.ts`],
          exclude: [underLoad],
          ...patient,
          maxConcurrency: 2,
          ...database,
          ...sideBySide,
          ...sharedModules,
        },
      },
      {
        test: {
          name: 'dashboard',
          include: [`${dashboard}/src/**/*.journey.test.ts`],
          ...patient,
          // A hundred steps and more, of which each has the limit of a condition.
          testTimeout: 300_000,
          globalSetup: [...database.globalSetup, `${dashboard}/src/tests/global-setup.ts`],
          ...sideBySide,
          ...sharedModules,
        },
      },
      {
        test: {
          name: 'faults',
          include: [underLoad],
          ...patient,
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
          ...database,
          ...sharedModules,
        },
      },
    ],
  },
})
