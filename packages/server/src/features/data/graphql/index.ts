import type { Feature } from '../../../feature.ts'
import { addOperations } from '../../../http/operation.ts'
import { acceptJsonText } from '../../../http/requests/body.ts'
import type { Engine } from './engine.ts'
import type { Graphql, GraphqlDeps } from './graphql.ts'
import { graphqlOperations } from './operations.ts'
import { ListedDocuments } from './persisted/listed-documents.ts'
import { documentOperations } from './persisted/operations.ts'
import { rewriteEnvelope } from './response.ts'

export { graphqlErrors, graphqlErrorTable } from './errors.ts'
export { completeEvent, formatNext } from './event-stream.ts'
export type { RecordAction } from './plan/event-values.ts'
export type { StreamCondition, SubscriptionPlan } from './plan/subscription.ts'
export { describeFailure, type Failure } from './response.ts'
export type { GraphqlOperations, GraphqlStreams, RequestedSubscription } from './streams.ts'

/** Serves the data API by GraphQL: another parser in front of the plans of the collections. */
export function graphql(deps: GraphqlDeps): Feature {
  const { collections, config, database } = deps
  let engine: Promise<Engine> | undefined
  const opened: Graphql = {
    ...deps,
    documents: new ListedDocuments(database.system),
    engine: () => {
      engine ??= import('./engine.ts').then((module) => new module.Engine(collections, config))
      return engine
    },
  }
  return {
    name: 'graphql',
    routes(app) {
      if (!config.enabled) return
      void app.register(async (scope) => {
        acceptJsonText(scope)
        // The handlers check requests: errors have the envelope of GraphQL.
        scope.setValidatorCompiler(() => (value) => ({ value }))
        scope.addHook('onSend', async (request, reply, payload) => rewriteEnvelope(request, reply, payload))
        addOperations(scope, opened, graphqlOperations)
      })
      addOperations(app, opened, documentOperations)
    },
  }
}
