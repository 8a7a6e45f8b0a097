import type { Logger } from 'pino'
import type { LiveCatalog } from '../../../database/catalog/live-catalog.ts'
import type { Database } from '../../../database/open.ts'
import type { Feature } from '../../../feature.ts'
import { addOperations } from '../../../http/operation.ts'
import { SchemaNamesCache } from './completion.ts'
import { sqlOperations } from './operations.ts'
import { createSqlRunner } from './runner.ts'

export { sqlRunnerErrorTable } from './errors.ts'
export { redactStatement } from './redact.ts'

export interface SqlRunnerFeatureDeps {
  readonly database: Pick<Database, 'aside' | 'user' | 'system' | 'engine'>
  readonly catalog: LiveCatalog
  readonly log: Logger
}

/** Creates the feature that runs, explains, saves and cancels statements of administrators. */
export function sqlRunner({ database, catalog, log }: SqlRunnerFeatureDeps): Feature {
  const runner = createSqlRunner({ database, log })
  const names = new SchemaNamesCache(database.system)
  return {
    name: 'sql-runner',
    routes: (app) => addOperations(app, { database, runner, catalog, names }, sqlOperations),
    stop: () => runner.stop(),
  }
}
