import type { Database } from '../../../database/open.ts'
import type { Collections } from '../collections/index.ts'
import type { GraphqlConfig } from './config.ts'
import type { Engine } from './engine.ts'
import type { ListedDocuments } from './persisted/listed-documents.ts'
import type { GraphqlStreams } from './streams.ts'

export interface GraphqlDeps {
  readonly collections: Collections
  readonly database: Pick<Database, 'system'>
  readonly config: GraphqlConfig
  readonly streams: GraphqlStreams
}

/** Everything that the endpoint works with. */
export interface Graphql extends GraphqlDeps {
  readonly documents: ListedDocuments
  /** Loads the library and the engine with the first request: idle servers do not pay for them. */
  readonly engine: () => Promise<Engine>
}
