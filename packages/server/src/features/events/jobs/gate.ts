import { addOperations, type Operation } from '../../../http/operation.ts'
import type { HttpServer } from '../../../http/server.ts'
import { jobErrors } from './errors.ts'

/**
 * Adds operations that need jobs. While jobs are disabled they respond with 503, after the guard and before the body is
 * read.
 */
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
