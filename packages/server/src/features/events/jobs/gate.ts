import { addOperations, type Operation } from '../../../http/operation.ts'
import type { HttpServer } from '../../../http/server.ts'
import { jobErrors } from './errors.ts'

/** Adds operations that need jobs: after the guard and before anything is read, they answer 503 while jobs are disabled. */
export function addJobOperations<Deps>(
  app: HttpServer,
  isEnabled: boolean,
  deps: Deps,
  operations: readonly Operation<Deps>[],
): void {
  void app.register(async (scope: HttpServer) => {
    scope.addHook('preParsing', async () => {
      if (!isEnabled) throw jobErrors.jobsDisabled()
    })
    addOperations(scope, deps, operations)
  })
}
