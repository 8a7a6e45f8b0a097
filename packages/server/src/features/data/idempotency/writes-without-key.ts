import type { UserDatabase } from '../../../database/user-database.ts'
import type { WritesOnce } from './writes-once.ts'

/** Creates a runner of writes in a transaction whose caller keeps the key, if there is one. */
export function createWritesWithoutKey(runSteps: UserDatabase['run']): WritesOnce {
  return {
    run: async ({ scope, steps, options }, read) => read(await runSteps(scope, steps, options)),
    runLong: async (_key, write) => await write({ reserve: async () => {}, store: async () => {} }),
    unlessMade: async (_key, work) => await work(),
    storingFailure: async (_write, work) => await work(),
  }
}
