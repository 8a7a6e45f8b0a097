import type { Logger } from 'pino'
import type { LiveCatalog } from '../../../database/catalog/live-catalog.ts'
import type { Database } from '../../../database/open.ts'
import type { Feature } from '../../../feature.ts'
import { addOperations } from '../../../http/operation.ts'
import type { JobQueue } from '../../../job-queue.ts'
import { ignoresAccentsByDefault, type StoredDefinitions } from './definitions.ts'
import { indexJob } from './index-job.ts'
import { createIndexer } from './indexer.ts'
import { createIndexing } from './indexing.ts'
import { searchOperations } from './operations.ts'
import { followRenames } from './renames.ts'
import { SearchedCollections } from './searched-collections.ts'

export { ignoresAccentsByDefault, resolveConfig, StoredDefinitions } from './definitions.ts'
export { searchErrorTable } from './errors.ts'
export { createIndexer, type IndexChanges } from './indexer.ts'
export { createIndexing, type Indexing } from './indexing.ts'
export type { IndexStatus } from './status.ts'

export interface SearchDeps {
  readonly database: Database
  readonly catalog: LiveCatalog
  readonly queue: JobQueue
  readonly definitions: StoredDefinitions
  readonly log: Logger
}

/** Creates the feature with settings, synonyms and indexes of searches. */
export function search({ database, catalog, queue, definitions, log }: SearchDeps): Feature {
  const { system, mode, engine } = database
  const indexer = createIndexer(database)
  const indexing = createIndexing({
    database: system,
    indexer,
    config: () => definitions.config,
    ignoresAccents: ignoresAccentsByDefault(engine),
  })
  queue.define(indexJob(catalog, indexing))
  const searched = new SearchedCollections({
    catalog,
    definitions,
    queue,
    log,
    isAutomatic: mode === 'embedded',
  })
  definitions.onSearch((relation) => searched.note(relation))
  catalog.onChange(followRenames({ database: system, queue, definitions, log }))
  const context = {
    catalog,
    database: system,
    queue,
    definitions,
    indexing,
    missed: searched.missed,
  }
  return {
    name: 'search',
    routes: (app) => addOperations(app, context, searchOperations),
    start: () => definitions.start(),
    stop: () => indexer.stop(),
  }
}
