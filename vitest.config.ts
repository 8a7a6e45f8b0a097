import { defineConfig } from 'vitest/config'

const server = 'packages/server'
const database = { globalSetup: [`${server}/test/global-setup.ts`] }
/** Tests wait for Postgres most of the time: more files at once than there are cores, and these first. */
const sideBySide = { maxWorkers: 4, sequence: { groupOrder: 0 } }

const ofProcesses = { testTimeout: 120_000, hookTimeout: 60_000 }

/**
 * Three kinds of tests, by name: pure (`.test.ts`), with a database (`.db.test.ts`), and those that start whole
 * processes or break things (`.process.test.ts`).
 */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'pure',
          include: [`${server}/{src,test}/**/*.test.ts`],
          exclude: [`${server}/**/*.{db,process,architecture}.test.ts`],
          ...sideBySide,
        },
      },
      {
        test: {
          name: 'architecture',
          include: [`${server}/test/**/*.architecture.test.ts`],
          ...sideBySide,
        },
      },
      {
        test: {
          name: 'database',
          include: [`${server}/{src,test}/**/*.db.test.ts`],
          testTimeout: 30_000,
          hookTimeout: 30_000,
          ...database,
          ...sideBySide,
        },
      },
      {
        test: {
          name: 'process',
          include: [`${server}/test/*.process.test.ts`],
          ...ofProcesses,
          // They wait for servers to start and stop most of the time.
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
          ...database,
        },
      },
      {
        test: {
          name: 'faults',
          include: [`${server}/test/faults/*.process.test.ts`],
          ...ofProcesses,
          // Under load of their own: side by side they would measure each other.
          maxWorkers: 1,
          sequence: { groupOrder: 2 },
          ...database,
        },
      },
    ],
  },
})
