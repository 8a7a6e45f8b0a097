import type { Feature } from '../../../feature.ts'
import { addOperations } from '../../../http/operation.ts'
import { acceptJsonText } from '../../../http/requests/body.ts'
import { StatementCache } from '../collections/index.ts'
import type { ProcedureDeps } from './call.ts'
import { procedureOperations } from './operations.ts'

export { procedureErrorTable } from './errors.ts'
export { relationOfResult } from './result.ts'
export {
  callableFunctions,
  compileSelectedCall,
  explainSelectedCall,
  type ResultPage,
  type SelectedCall,
  type SelectedResult,
  targetOf,
} from './selected-call.ts'

/** Creates the feature that serves functions of the database over HTTP. */
export function procedures(deps: ProcedureDeps): Feature {
  return {
    name: 'procedures',
    routes(app) {
      void app.register(async (scope) => {
        acceptJsonText(scope)
        // The schemas only describe the operations.
        scope.setValidatorCompiler(() => (value) => ({ value }))
        addOperations(scope, { ...deps, statements: new StatementCache() }, procedureOperations)
      })
    },
  }
}
