import type { Logger } from 'pino'
import type { LiveCatalog } from '../../../database/catalog/live-catalog.ts'
import type { Relation } from '../../../database/catalog/model.ts'
import type { JobQueue } from '../../../job-queue.ts'
import { messageOf } from '../../../lib/errors.ts'
import type { StoredDefinitions } from './definitions.ts'
import { indexJobName } from './index-job.ts'
import { adviceFor } from './indexing.ts'
import { requiredIndexes } from './required-indexes.ts'

export interface SearchedCollectionsDeps {
  readonly catalog: Pick<LiveCatalog, 'current'>
  readonly definitions: Pick<StoredDefinitions, 'version' | 'config' | 'settingsOf' | 'rowOf'>
  readonly queue: Pick<JobQueue, 'enqueue' | 'wake'>
  readonly log: Pick<Logger, 'warn'>
  /** True if indexes are built without a request, because the database is embedded. */
  readonly isAutomatic: boolean
}

/**
 * Collections that are searched without an index. In the embedded database they get one, also after one was dropped
 * by SQL. Elsewhere the operator is advised, once until there is an index.
 */
export class SearchedCollections {
  readonly #deps: SearchedCollectionsDeps
  /** Relations that were checked already. A new catalog snapshot has new relations. */
  #known = new WeakMap<Relation, string>()
  /** Handled collections, each with the relation that had its name. */
  readonly #handled = new Map<string, string>()
  /** Collections without an index. */
  readonly missed = new Set<string>()

  constructor(deps: SearchedCollectionsDeps) {
    this.#deps = deps
  }

  /** Handles a search of the collection. It never waits and never fails. */
  note(relation: Relation): void {
    const { catalog, definitions, isAutomatic, queue, log } = this.#deps
    if (this.#known.get(relation) === definitions.version) return
    this.#known.set(relation, definitions.version)
    const { collection } = relation
    const required = requiredIndexes(
      catalog.current,
      relation,
      definitions.settingsOf(relation),
      definitions.config,
    )
    const isIndexed = required.every(({ name }) =>
      relation.indexes.some((index) => index.name === name && index.isValid),
    )
    if (isIndexed || definitions.rowOf(relation)?.is_indexed === false) {
      this.missed.delete(collection)
      this.#handled.delete(collection)
      return
    }
    this.missed.add(collection)
    const key = isAutomatic ? [relation.version, ...required.map(({ name }) => name)].join() : ''
    if (this.#handled.get(collection) === key) return
    this.#handled.set(collection, key)
    if (isAutomatic) {
      queue.enqueue(indexJobName, { collection }).then(
        () => queue.wake(),
        (error) => {
          this.#handled.delete(collection)
          log.warn({ collection, reason: messageOf(error) }, 'failed to enqueue the build of a search index')
        },
      )
    } else {
      log.warn(
        { collection, run: adviceFor(collection) },
        'a collection is searched without an index: every search reads all of it',
      )
    }
  }
}
