import { defineConfig } from 'vitest/config'
import { citusUrl } from './packages/server/test/citus-database.ts'
import { FailedFiles } from './packages/server/test/failed-files.ts'
import { LongestFirst } from './packages/server/test/longest-first.ts'
import { filesOnCitus } from './packages/server/test/on-citus.ts'
import { filesOnReplica } from './packages/server/test/on-replica.ts'
import { filesOnWorkers } from './packages/server/test/on-workers.ts'
import { RepeatedTests } from './packages/server/test/repeated-tests.ts'
import { SlowestFiles } from './packages/server/test/slowest-files.ts'
import { filesWithLiterals } from './packages/server/test/with-literals.ts'

const server = 'packages/server'
/** Packages of the browser. */
const client = 'packages/{client,react}'
const dashboard = 'packages/dashboard'
const database = { globalSetup: [`${server}/test/global-setup.ts`] }
/**
 * Scheduling of most tests. They wait for Postgres and for servers to start, so more files than cores run at once.
 */
const sideBySide = { maxWorkers: 5, sequence: { groupOrder: 0 } }
/**
 * Sharing of modules, which keep no state, and of compiled code by the files of a worker. It saves a quarter of the
 * processor time.
 */
const sharedModules = { isolate: false }

/** Tests that put a load on the server and check how fast it responds. Side by side they would measure each other. */
const underLoad = `${server}/test/faults/{network,nodes,overload,postgres}.process.test.ts`

/**
 * Generous limits. A test that waits for a condition ends with it, and machines may be ten times slower. These limits
 * end tests that hang. The limit of one condition, here and in `test/wait-for.ts`, is shorter, so that the failure
 * names it.
 */
const limits = { testTimeout: 120_000, hookTimeout: 120_000, expect: { poll: { timeout: 60_000 } } }

/** Tests on distributed tables, in the run where a server with Citus is named. */
const onCitus = {
  test: {
    name: 'citus',
    include: filesOnCitus.map((file) => `${server}/src/${file}.db.test.ts`),
    setupFiles: [`${server}/test/on-citus.setup.ts`],
    env: { BASALT_TEST_CITUS: 'true' },
    ...limits,
    ...database,
    ...sideBySide,
    ...sharedModules,
  },
}

/**
 * Projects by the kind of test: pure (`.test.ts`), with a database (`.db.test.ts`), whole processes and faults
 * (`.process.test.ts`), and journeys through the dashboard in a browser (`.journey.test.ts`). Tests of several nodes run on
 * workers as well. Tests are next to the code they test or in a folder `tests`.
 */
export default defineConfig({
  test: {
    // Node runs the sources as in production, without transforming them.
    experimental: { viteModuleRunner: false },
    // Packages import each other by name, which resolves to their sources without a build.
    execArgv: ['--conditions=@basaltdb/source'],
    reporters: [new SlowestFiles(), new RepeatedTests(), new FailedFiles(), 'default'],
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: 'pure',
          include: [
            `${server}/{src,test}/**/*.test.ts`,
            `packages/{client,react,dashboard}/src/**/*.test.ts`,
            'scripts/docs/*.test.ts',
            'scripts/language/*.test.ts',
          ],
          exclude: [`packages/*/**/*.{db,process,architecture,journey}.test.ts`],
          ...limits,
          ...sideBySide,
          ...sharedModules,
        },
      },
      {
        test: {
          name: 'architecture',
          include: [`${server}/test/**/*.architecture.test.ts`],
          ...limits,
          ...sideBySide,
          ...sharedModules,
        },
      },
      {
        test: {
          name: 'database',
          include: [`${server}/{src,test}/**/*.db.test.ts`, `${client}/src/**/*.db.test.ts`],
          ...limits,
          ...database,
          ...sideBySide,
          ...sharedModules,
        },
      },
      {
        test: {
          name: 'workers',
          include: filesOnWorkers.map((file) => `${server}/src/${file}.db.test.ts`),
          setupFiles: [`${server}/test/on-workers.setup.ts`],
          env: { BASALT_TEST_WORKERS: '2' },
          ...limits,
          ...database,
          ...sideBySide,
          ...sharedModules,
        },
      },
      {
        test: {
          name: 'literals',
          include: filesWithLiterals.map((file) => `${server}/src/${file}.db.test.ts`),
          env: { BASALT_TEST_CONTEXT: 'literals' },
          ...limits,
          ...database,
          ...sideBySide,
          ...sharedModules,
        },
      },
      {
        test: {
          name: 'replica',
          include: filesOnReplica.map((file) => `${server}/src/${file}.db.test.ts`),
          setupFiles: [`${server}/test/on-replica.setup.ts`],
          env: { BASALT_TEST_REPLICA: '300' },
          ...limits,
          ...sideBySide,
          ...sharedModules,
          globalSetup: [...database.globalSetup, `${server}/test/on-replica.global-setup.ts`],
        },
      },
      ...(citusUrl === undefined ? [] : [onCitus]),
      {
        test: {
          name: 'process',
          include: [
            `${server}/{src,test}/**/*.process.test.ts`,
            `packages/{client,functions,react}/src/**/*.process.test.ts`,
          ],
          exclude: [underLoad],
          // Packages are packed without the documentation site, so that its generator is not needed.
          env: { BASALT_TEST_WITHOUT_DOCS: 'true' },
          ...limits,
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
          ...limits,
          // A journey has a hundred steps and more, each with the limit of a condition.
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
          ...limits,
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
          ...database,
          ...sharedModules,
        },
      },
    ],
  },
})
